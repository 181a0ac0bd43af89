//! Quoting of a malformed URL, without any part that may be a password.

use percent_encoding::percent_decode_str;

use crate::config::secret::{MASK, is_secret_key};

/// `text` with everything masked that may be a user, a password or another secret. It is made for
/// text that is no URL at all, so it would rather mask too much.
pub(super) fn mask(text: &str) -> String {
    let (scheme, rest) = match text.split_once(':') {
        Some((scheme, rest)) if !scheme.contains('@') => (&text[..=scheme.len()], rest),
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
            (format!("{MASK}@{hosts}"), query)
        }
        None => {
            let (before, query) = split_query(rest);
            let (hosts, path) = before.split_at(before.find('/').unwrap_or(before.len()));
            let hosts = if slashes.is_empty() {
                hosts.to_owned()
            } else {
                mask_ports(hosts)
            };
            (hosts + path, query)
        }
    };
    let query = query.map(mask_query).unwrap_or_default();
    format!("{scheme}{slashes}{before_query}{query}")
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

fn mask_query(query: &str) -> String {
    // No key may have escapes, but a key that is refused is quoted.
    let is_secret = |key: &str| is_secret_key(&percent_decode_str(key).decode_utf8_lossy());
    let mut after_secret = false;
    let masked = query.split('&').map(|pair| {
        let shown = match pair.split_once('=') {
            Some((key, _)) if is_secret(key) => format!("{key}={MASK}"),
            None if after_secret || is_secret(pair) => MASK.to_owned(),
            _ => pair.to_owned(),
        };
        after_secret = shown.ends_with(MASK);
        shown
    });
    format!("?{}", masked.collect::<Vec<_>>().join("&"))
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
            ("file:/a:b", "file:/a:b"),
            ("", ""),
        ] {
            assert_eq!(mask(broken), shown);
        }
    }
}
