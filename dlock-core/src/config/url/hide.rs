//! The secrets of a URL: whether it has any, and its text without them.
//!
//! The value of a key may be the URL of another store, with secrets of its own.

use std::{borrow::Cow, fmt};

use super::{
    BackendUrl,
    mask::{mask, may_be_url},
    parse::parse,
    write::Written,
};
use crate::config::secret::{MASK, Secret, is_secret_key};

impl BackendUrl {
    /// Whether a password is written in the URL or in one that is nested in it, as opposed to the place of one, as in
    /// `password_file`.
    ///
    /// A nested text that is not a URL counts, too, if it may hold a password.
    ///
    /// ```
    /// use dlock_core::config::BackendUrl;
    ///
    /// assert!(BackendUrl::parse("redis://:hunter2@db-1")?.has_secret());
    /// assert!(BackendUrl::parse("migrate:?from=redis://:hunter2%40db-1")?.has_secret());
    /// assert!(!BackendUrl::parse("redis://db-1?password_file=/run/secrets/redis")?.has_secret());
    /// # Ok::<(), dlock_core::Error>(())
    /// ```
    #[must_use]
    pub fn has_secret(&self) -> bool {
        has_secret(self, Self::STORES_NESTED_MAX)
    }
}

impl fmt::Display for BackendUrl {
    /// Writes the URL in normal form, with its passwords and those of nested URLs masked.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Written(&masked(self, Self::STORES_NESTED_MAX)).fmt(f)
    }
}

impl fmt::Debug for BackendUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BackendUrl({self})")
    }
}

/// The value of `key` as a message may have it.
pub(in crate::config) fn masked_value<'a>(key: &str, value: &'a str) -> Cow<'a, str> {
    if is_secret_key(key) {
        return Cow::Borrowed(MASK);
    }
    hidden(value, BackendUrl::STORES_NESTED_MAX).map_or(Cow::Borrowed(value), Cow::Owned)
}

/// `url` with `***` in the place of each secret, in itself and in as many as `levels` of nested URLs.
fn masked(url: &BackendUrl, levels: usize) -> BackendUrl {
    let mut url = url.clone();
    if url.password.is_some() {
        url.password = Some(Secret::new(MASK));
    }
    if let Some(path) = hidden_path(&url.path, levels) {
        url.path = path;
    }
    for (key, value) in &mut url.params {
        if is_secret_key(key) {
            MASK.clone_into(value);
        } else if let Some(text) = hidden(value, levels) {
            *value = text;
        }
    }
    url
}

fn has_secret(url: &BackendUrl, levels: usize) -> bool {
    let is_secret =
        |(key, value): (&String, &String)| is_secret_key(key) || hidden(value, levels).is_some();
    url.password.is_some()
        || url.params.iter().any(is_secret)
        || hidden_path(&url.path, levels).is_some()
}

/// As [`hidden`], of a path. A "?" that was forgotten makes one of the keys, and of the URLs in them.
fn hidden_path(path: &str, levels: usize) -> Option<String> {
    if !path.contains("://") {
        return None;
    }
    let (slash, text) = match path.strip_prefix('/') {
        Some(text) => ("/", text),
        None => ("", path),
    };
    hidden(text, levels).map(|text| format!("{slash}{text}"))
}

/// The text in the place of a value that has a secret; `None` for one without.
fn hidden(value: &str, levels: usize) -> Option<String> {
    // A user, as in "app@db", is not a secret.
    if !may_be_url(value) {
        return None;
    }
    match (parse(value), levels.checked_sub(1)) {
        // No store is nested as deep, so this would be an error: what it holds is not parsed, but is masked.
        (Ok(url), None) => {
            (url.password.is_some() || !url.params.is_empty()).then(|| MASK.to_owned())
        }
        (Ok(url), Some(levels)) => {
            has_secret(&url, levels).then(|| Written(&masked(&url, levels)).to_string())
        }
        (Err(_), _) => Some(mask(value)).filter(|shown| shown != value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nested_url_is_masked_and_exposed() {
        for (text, shown) in [
            (
                "m:?from=redis://u:p%40h&to=zk://z",
                "m:?from=redis://u:***%40h&to=zk://z",
            ),
            (
                "m:?from=redis:%3Fpassword=p",
                "m:?from=redis:%3Fpassword=***",
            ),
            (
                "m:?from=m:%3Ffrom=redis://u:p%2540h",
                "m:?from=m:%3Ffrom=redis://u:***%2540h",
            ),
            // Texts that are not URLs, but may be meant to be.
            ("m:?from=redis://u:p%40h:x", "m:?from=redis://***%40h:x"),
            ("m:?from=redis://u:p", "m:?from=redis://u:***"),
            ("m:?from=redis:u:p%40h", "m:?from=redis:***%40h"),
            ("m:?from=u:p%40h", "m:?from=u:***%40h"),
            ("m:?from=h%3Fpassword=p", "m:?from=h%3Fpassword=***"),
            ("m:?from=redis%253A%252F%252Fu:p%2540h", "m:?from=***"),
            ("m:from=redis://u:p%40h", "m:from=redis://***%40h"),
            ("m://h/from=redis://u:p%40h", "m://h/from=redis://***%40h"),
        ] {
            let url = parse(text).expect(text);
            assert_eq!(url.to_string(), shown);
            assert!(url.has_secret(), "{text}");
            assert_eq!(parse(&url.expose()).as_ref(), Ok(&url), "{text}");
        }
    }

    #[test]
    fn a_value_without_a_secret_is_written_as_it_is() {
        for text in [
            "m:?from=FILE:///a&to=redis://u%40h:1",
            "m:?from=env:OLD_STORE",
            "m:?from=redis://h%3Fpassword_file=/run/p",
            "m:?prefix=app:&user=app%40db",
            "m:?share=100%25&user=%25%40",
            "file:/a:b%40c",
        ] {
            let url = parse(text).expect(text);
            assert_eq!(url.to_string(), text);
            assert!(!url.has_secret(), "{text}");
        }
    }

    #[test]
    fn a_value_below_the_deepest_store_is_masked_as_a_whole() {
        let nest = |inner: &str| {
            (0..BackendUrl::STORES_NESTED_MAX).fold(inner.to_owned(), |url, _| {
                let outer = parse("m:").expect("m:").with_param("from", url);
                outer.expose()
            })
        };
        let text = nest("m:?from=x:%3Fkey=hunter2");
        let url = parse(&text).expect(&text);
        assert!(url.has_secret());
        assert!(!url.to_string().contains("hunter2"), "{url}");
        let text = nest("redis://h?prefix=app:");
        assert_eq!(parse(&text).expect(&text).to_string(), text);
    }
}
