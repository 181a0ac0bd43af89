//! The parts of a URL: keys, escapes, and the reasons to refuse them.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::mask::mask;

/// The parsed value, or the reason to refuse it.
pub(super) type Parsed<T> = Result<T, Cow<'static, str>>;

pub(super) fn invalid<T>(why: impl Into<Cow<'static, str>>) -> Parsed<T> {
    Err(why.into())
}

/// Refuses a key of a URL or a file that no backend can have.
pub(in crate::config) fn check_key(key: &str) -> Parsed<()> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    if key.is_empty() || !key.chars().all(allowed) {
        // Masked: it may be a URL in the wrong place.
        let key = mask(key);
        return invalid(format!(
            "{key:?} is no key: keys are of a-z, 0-9, \"_\" and \"-\""
        ));
    }
    Ok(())
}

/// Decodes text that is printed and stored. A control character in it is refused.
pub(super) fn decode(text: &str, what: &str) -> Parsed<String> {
    let decoded = unescape(text, what)?;
    if decoded.contains(char::is_control) {
        return invalid(format!("the {what} has a control character"));
    }
    Ok(decoded)
}

pub(super) fn unescape(text: &str, what: &str) -> Parsed<String> {
    let is_escape =
        |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|b| b.is_ascii_hexdigit());
    if !text.split('%').skip(1).all(is_escape) {
        return invalid(format!(
            "the {what} has a \"%\" that is no escape; \"%\" is written %25"
        ));
    }
    match percent_decode_str(text).decode_utf8() {
        Ok(decoded) => Ok(decoded.into_owned()),
        Err(_) => invalid(format!("the {what} is not UTF-8 when decoded")),
    }
}
