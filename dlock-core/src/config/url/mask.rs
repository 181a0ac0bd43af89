//! Quoting of a malformed URL, without any part that may be a password.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::bounds::STORES_NESTED_MAX;
use crate::config::secret::{MASK, is_secret_key};

/// How often a part of a text is taken for a text of its own or decoded: twice for each level of nested URLs, and twice
/// to spare. What is deeper is masked as a whole.
const STEPS_MAX: usize = 2 * STORES_NESTED_MAX + 2;

/// `text` with everything masked that may be a user, a password or another secret, also in nested URLs. It is made
/// for text that is no URL at all, so it would rather mask too much.
pub(super) fn mask(text: &str) -> String {
    mask_within(text, STEPS_MAX)
}

fn mask_within(text: &str, steps: usize) -> String {
    let shown = mask_parts(text, steps);
    // The structure of a text that was escaped as a whole is a guess, so nothing of it is printed.
    if shown == text && has_escaped_secret(text, steps) {
        return MASK.to_owned();
    }
    shown
}

fn mask_parts(text: &str, steps: usize) -> String {
    let (scheme, rest) = match text.split_once(':') {
        Some((scheme, rest)) if !scheme.contains(['@', '?', '%']) => (&text[..=scheme.len()], rest),
        _ => ("", text),
    };
    let (slashes, rest) = match rest.strip_prefix("//") {
        Some(rest) => ("//", rest),
        None => ("", rest),
    };
    let (before_query, query) = match rest.rsplit_once('@') {
        // A secret of the query may go on behind it.
        Some((before, _)) if before.contains('?') => (MASK.to_owned(), None),
        // All before the last "@": a password may hold "@" and "/" that are not escaped.
        Some((_, rest)) => {
            let (hosts, query) = split_query(rest);
            (format!("{MASK}@{}", mask_escaped(hosts, steps)), query)
        }
        None => {
            let (before, query) = split_query(rest);
            let (hosts, path) = before.split_at(before.find('/').unwrap_or(before.len()));
            let hosts = if slashes.is_empty() {
                hosts.to_owned()
            } else {
                mask_ports(hosts)
            };
            (mask_escaped(&(hosts + path), steps), query)
        }
    };
    let query = query.map(|query| mask_query(query, steps));
    format!(
        "{scheme}{slashes}{before_query}{}",
        query.unwrap_or_default()
    )
}

fn split_query(text: &str) -> (&str, Option<&str>) {
    match text.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (text, None),
    }
}

/// Masks what is in the place of a port and is none: `redis://user:password` lacks its host.
fn mask_ports(hosts: &str) -> String {
    let masked = hosts.split(',').map(|host| match host.split_once(':') {
        Some((name, port)) if !name.starts_with('[') && port.parse::<u16>().is_err() => {
            format!("{name}:{MASK}")
        }
        _ => host.to_owned(),
    });
    masked.collect::<Vec<_>>().join(",")
}

fn mask_query(query: &str, steps: usize) -> String {
    if query.split('&').any(|pair| is_end_of_login(pair, steps)) && has(query, ':', steps) {
        return format!("?{MASK}");
    }
    // No key may have escapes, but a key that is refused is quoted.
    let is_secret = |key: &str| is_secret_key(&decoded(key));
    let mut after_secret = false;
    let masked = query.split('&').map(|pair| {
        let shown = match pair.split_once('=') {
            Some((key, _)) if is_secret(key) => format!("{key}={MASK}"),
            Some((key, value)) => format!("{key}={}", mask_value(value, steps)),
            None if after_secret || is_secret(pair) => MASK.to_owned(),
            None => mask_escaped(pair, steps),
        };
        after_secret = shown.ends_with(MASK);
        shown
    });
    format!("?{}", masked.collect::<Vec<_>>().join("&"))
}

/// Whether `pair` has the "@" of a nested URL whose beginning it has not: an "&" in its password is not escaped.
fn is_end_of_login(pair: &str, steps: usize) -> bool {
    let is_url = |value: &str| {
        let value = decoded(value);
        let (scheme, rest) = value.split_once(':').unwrap_or_default();
        let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        !scheme.is_empty() && scheme.chars().all(is_scheme) && rest.starts_with(['/', '?'])
    };
    has(pair, '@', steps) && !pair.split_once('=').is_some_and(|(_, value)| is_url(value))
}

/// Masks the value of a key, which may be a URL as it is or escaped.
fn mask_value(value: &str, steps: usize) -> String {
    let Some(steps) = steps.checked_sub(1) else {
        return mask_too_deep(value);
    };
    let shown = mask_parts(value, steps);
    let scheme = value.split(':').next().unwrap_or_default();
    let is_escaped = scheme.contains('%') && !value.contains('?');
    if shown != value && !is_escaped {
        return shown;
    }
    let plain = decoded(value);
    let masked = mask_within(&plain, steps);
    if masked == plain { shown } else { masked }
}

/// Masks a part as a whole if a secret appears in it when it is decoded.
fn mask_escaped(text: &str, steps: usize) -> String {
    if has_escaped_secret(text, steps) {
        return MASK.to_owned();
    }
    text.to_owned()
}

fn has_escaped_secret(text: &str, steps: usize) -> bool {
    let plain = decoded(text);
    if plain == text {
        return false;
    }
    let shown = match steps.checked_sub(1) {
        Some(steps) => mask_within(&plain, steps),
        None => mask_too_deep(&plain),
    };
    shown != plain
}

fn mask_too_deep(text: &str) -> String {
    if text.contains([':', '@', '?', '=', '%']) {
        return MASK.to_owned();
    }
    text.to_owned()
}

/// Whether `text` has the form of a URL, or a part of it once it is decoded.
pub(super) fn may_be_url(text: &str) -> bool {
    [':', '?'].iter().any(|c| has(text, *c, STEPS_MAX))
}

/// Whether `text` has `wanted`, as it is or escaped as often as `steps`.
fn has(text: &str, wanted: char, steps: usize) -> bool {
    if text.contains(wanted) {
        return true;
    }
    let plain = decoded(text);
    if plain == text {
        return false;
    }
    steps
        .checked_sub(1)
        .is_none_or(|steps| has(&plain, wanted, steps))
}

fn decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_masked_however_broken_the_url_is() {
        for (broken, shown) in [
            ("redis://u:p@h:6379/0", "redis://***@h:6379/0"),
            ("redis://u:p@ss@h", "redis://***@h"),
            ("redis://u:p/a#c@h,h2", "redis://***@h,h2"),
            // Each may be a password with an "@", or a key before one.
            ("redis://u:p/a?b#c@h,h2", "redis://***"),
            ("redis://h?user=a@b&password=p", "redis://***"),
            ("redis:u:p@h", "redis:***@h"),
            ("redis:/u:p@h", "redis:***@h"),
            ("u:p@h", "u:***@h"),
            ("p@h:1", "***@h:1"),
            ("redis://u:p", "redis://u:***"),
            ("redis://u:p,h:1,[::1]:2/0", "redis://u:***,h:1,[::1]:2/0"),
            (
                "redis://h?sentinel-password=p&ttl=1s",
                "redis://h?sentinel-password=***&ttl=1s",
            ),
            (
                "redis://h?Sentinel-Password=p&ttl=1s",
                "redis://h?Sentinel-Password=***&ttl=1s",
            ),
            (
                "redis://h?p%61ssword=p&ttl=1s",
                "redis://h?p%61ssword=***&ttl=1s",
            ),
            // An "&" that is not escaped.
            (
                "redis://h?password=p&p&p&ttl",
                "redis://h?password=***&***&***&***",
            ),
            ("redis://h?password:p&ttl=1s", "redis://h?***&ttl=1s"),
            ("h?password=p:1", "h?password=***"),
            ("file:/a:b", "file:/a:b"),
            ("", ""),
        ] {
            assert_eq!(mask(broken), shown);
        }
    }

    #[test]
    fn passwords_of_nested_urls_are_masked_escaped_or_not() {
        for (broken, shown) in [
            ("m:?from=redis%3A%2F%2Fu:p%40h", "m:?from=redis://***@h"),
            (
                "m:?from=redis%3A%2F%2Fu%3Ap%40h&to=zk%3A%2F%2Fz",
                "m:?from=redis://***@h&to=zk%3A%2F%2Fz",
            ),
            ("m:?from=redis://u:p%40h&p", "m:?from=redis://u:***&***"),
            ("m:?from=redis://u:p@h", "m:***"),
            ("m:?from=redis://u:p", "m:?from=redis://u:***"),
            ("m:?from=redis%3A%2F%2Fu:p", "m:?from=redis://u:***"),
            (
                "m:?from=redis://h?password=a%26b%3Dc&ttl=1s",
                "m:?from=redis://h?password=***&ttl=1s",
            ),
            (
                "m:?from=redis%3A//h%3Fpassword=a%2526b%253Dc&ttl=1s",
                "m:?from=redis://h?password=***&ttl=1s",
            ),
            (
                "m:?from=m%3A%3Ffrom%3Dredis%253A%252F%252Fu:p%2540h",
                "m:?from=m:?from=redis://***@h",
            ),
            // An "&" in the password that is not escaped, behind a number that could be a port.
            ("m:?from=redis%3A%2F%2Fu:12&p%40h", "m:?***"),
            ("m:?from=redis%3A%2F%2Fu:12&p=p%2540h", "m:?***"),
            // The "?" is missing, or is escaped.
            ("m:from=redis%3A%2F%2Fu:p%40h", "m:***"),
            ("redis://h%3Fpassword=p%26p=p", "redis://***"),
            ("redis://u:p@h/x%3Fpassword=p", "redis://***@***"),
            ("m:?from%3Dredis%3A%2F%2Fu:p", "m:?***"),
            ("redis:%2F%2Fu:p", "***"),
            (
                "m:?from=redis%3A//h?password=a%26b%3Dc",
                "m:?from=redis%3A//h?password=***",
            ),
            // Escaped as a whole.
            ("redis%3A%2F%2Fu:p", "***"),
            ("redis%3A%2F%2Fu%3Ap%40h:1", "***"),
            ("redis%253A%252F%252Fu%253Ap%2540h", "***"),
            // A user is masked, as before "@". A query without ":" has no nested login, so the rest is shown.
            (
                "redis://h:x?user=a%40b&ttl=1",
                "redis://h:***?user=***@b&ttl=1",
            ),
            ("file:/a%20b?prefix=c%20d", "file:/a%20b?prefix=c%20d"),
        ] {
            assert_eq!(mask(broken), shown, "{broken}");
        }
    }

    #[test]
    fn text_of_any_depth_is_masked_soon() {
        let escapes = format!("m:?from=%{}40", "25".repeat(2000));
        let nested = format!("m:?{}u:p@h", "a=m:?".repeat(800));
        let keys = format!("{}password=hunter2", "m:?a=".repeat(800));
        for text in [escapes, nested, keys] {
            assert!(!mask(&text).contains("hunter2"));
        }
    }
}
