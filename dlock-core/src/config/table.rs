//! A table with the URL and its keys: a file, or a part of another program's configuration.

use toml::{Table, Value};

use super::{
    configuration::Config,
    secret::is_secret_key,
    source::Source,
    url::{BackendUrl, check_key},
};
use crate::base::error::Result;

/// Reads `url = "…"` and the keys of a URL. They become part of the URL, so that readers of settings need
/// not know where they were written.
pub(super) fn from_table(mut table: Table, source: Source) -> Result<Config> {
    let mut url = match table.remove("url") {
        Some(Value::String(url)) => BackendUrl::parse(&url).map_err(|why| source.invalid(why))?,
        Some(other) => {
            return Err(source.invalid(format!("url is {}, allowed is a string", kind(&other))));
        }
        None => return Err(source.invalid("key \"url\" is missing, as in url = \"redis://host\"")),
    };
    for (key, value) in table {
        check_key(&key).map_err(|why| source.invalid(why))?;
        let value = text_of(&key, value).map_err(|why| source.invalid(why))?;
        if url.params.insert(key.clone(), value).is_some() {
            return Err(source.invalid(format!("{key} is given twice: in the URL and as a key")));
        }
    }
    Ok(Config::new(url, source))
}

/// The value as text of a URL, or the reason why it cannot be one.
fn text_of(key: &str, value: Value) -> Result<String, String> {
    let text = match value {
        Value::String(text) => text,
        Value::Integer(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        other => {
            let kind = kind(&other);
            return Err(format!(
                "{key} is {kind}, allowed are a string, an integer and a boolean"
            ));
        }
    };
    if text.contains(char::is_control) && !is_secret_key(key) {
        return Err(format!("the {key} has a control character"));
    }
    Ok(text)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a string",
        Value::Integer(_) => "an integer",
        Value::Float(_) => "a fraction",
        Value::Boolean(_) => "a boolean",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "an array",
        Value::Table(_) => "a table",
    }
}
