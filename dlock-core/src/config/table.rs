//! A table with the URL and its keys: a file, or a part of another program's configuration.
//!
//! A table in it is the same for another store: `[from]` has a URL and its keys, and is the value of the key `from`. The
//! tables `[[node]]` are the values of the keys `1`, `2` and so on.

use std::fmt;

use toml::{Table, Value};

use super::{
    configuration::Config,
    secret::is_secret_key,
    source::Source,
    url::{BackendUrl, check_key},
};
use crate::base::error::Result;

/// The key of the tables that are counted.
const NODE: &str = "node";

/// Reads `url = "…"` and the keys of a URL. They become part of the URL, so that readers of settings need
/// not know where they were written.
pub(super) fn from_table(table: Table, source: Source) -> Result<Config> {
    match url_of(table, &Place(Vec::new())) {
        Ok(url) => Ok(Config::new(url, source)),
        Err(why) => Err(source.invalid(why)),
    }
}

/// The keys that lead to a table: none to the whole one, `from` to `[from]`, `node` and `1` to the first `[[node]]`.
struct Place(Vec<String>);

impl Place {
    fn below(&self, key: &str) -> Self {
        let mut keys = self.0.clone();
        keys.push(key.to_owned());
        Self(keys)
    }

    /// How many tables of stores this one is in.
    fn level(&self) -> usize {
        self.0.iter().filter(|key| *key != NODE).count()
    }
}

impl fmt::Display for Place {
    /// Writes the keys as in `from.node.1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// The URL of `table` with its keys, or the reason why there is none.
fn url_of(mut table: Table, place: &Place) -> Result<BackendUrl, String> {
    let mut url = match table.remove("url") {
        Some(Value::String(url)) => parse(&url, place)?,
        Some(other) => {
            let (url, kind) = (place.below("url"), kind(&other));
            return Err(format!("{url} is {kind}, allowed is a string"));
        }
        None => return Err(without_url(place)),
    };
    for (key, value) in table {
        if let Err(why) = check_key(&key) {
            return Err(match place.0.is_empty() {
                true => why.into_owned(),
                false => format!("{place}: {why}"),
            });
        }
        for (name, value) in values_of(&key, value, &place.below(&key))? {
            if url.params.insert(name.clone(), value).is_some() {
                let places = match name == key {
                    true => "in the URL and as a key",
                    false => "as a key and as a [[node]]",
                };
                let name = place.below(&name);
                return Err(format!("{name} is given twice: {places}"));
            }
        }
    }
    Ok(url)
}

fn parse(url: &str, place: &Place) -> Result<BackendUrl, String> {
    BackendUrl::parse(url).map_err(|why| match place.0.is_empty() {
        true => why.to_string(),
        false => format!("{}: {why}", place.below("url")),
    })
}

fn without_url(place: &Place) -> String {
    if place.0.is_empty() {
        return "key \"url\" is missing, as in url = \"redis://host\"".to_owned();
    }
    format!(
        "{place}.url is missing; a table is a store, with url = \"redis://host\" and keys of that URL"
    )
}

/// The keys and values of a URL that `key` is in a table: one, or those of its nodes.
fn values_of(key: &str, value: Value, place: &Place) -> Result<Vec<(String, String)>, String> {
    match value {
        Value::Array(nodes) if key == NODE => nodes_of(nodes, place),
        Value::Table(table) if !is_secret_key(key) => {
            Ok(vec![(key.to_owned(), store_of(table, place)?)])
        }
        value => {
            let text = text_of(key, value, place)?;
            Ok(vec![(key.to_owned(), text)])
        }
    }
}

/// The keys of the tables `[[node]]`: each has its number, from 1.
fn nodes_of(nodes: Vec<Value>, place: &Place) -> Result<Vec<(String, String)>, String> {
    let (count, max) = (nodes.len(), BackendUrl::NODES_MAX);
    if !(1..=max).contains(&count) {
        return Err(format!(
            "{place} has {count} tables, allowed are 1 to {max}"
        ));
    }
    let numbered = (1..).zip(nodes).map(|(number, node)| {
        let key = number.to_string();
        let place = place.below(&key);
        match node {
            Value::Table(table) => Ok((key, store_of(table, &place)?)),
            other => Err(format!(
                "{place} is {}, allowed is a table [[{NODE}]]",
                kind(&other)
            )),
        }
    });
    numbered.collect()
}

/// The URL of another store, as the value of a key.
fn store_of(table: Table, place: &Place) -> Result<String, String> {
    let (level, max) = (place.level(), BackendUrl::STORES_NESTED_MAX);
    if level > max {
        return Err(format!(
            "{place} is nested in {level} stores, allowed are at most {max}"
        ));
    }
    Ok(url_of(table, place)?.expose())
}

/// The value as text of a URL, or the reason why it cannot be one.
fn text_of(key: &str, value: Value, place: &Place) -> Result<String, String> {
    let text = match value {
        Value::String(text) => text,
        Value::Integer(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        other => {
            let kind = kind(&other);
            return Err(format!(
                "{place} is {kind}, allowed are a string, an integer and a boolean"
            ));
        }
    };
    if text.contains(char::is_control) && !is_secret_key(key) {
        return Err(format!("the {place} has a control character"));
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
