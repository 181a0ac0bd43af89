//! A URL as a text in normal form, with everything that it has.

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::BackendUrl;

/// A URL to be written, with its passwords.
pub(super) struct Written<'a>(pub(super) &'a BackendUrl);

/// The characters with a meaning in some part of a URL, and those that no part may have.
const RESERVED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'@');
const IN_USER: &AsciiSet = &RESERVED.add(b':').add(b'/');
const IN_VALUE: &AsciiSet = &RESERVED.add(b'&');

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(url) = self;
        write!(f, "{}:", url.scheme)?;
        // Without the empty authority, a path of two slashes would be read as a host.
        if !url.hosts.is_empty() || url.path.starts_with("//") {
            f.write_str("//")?;
        }
        if let Some(user) = &url.user {
            write!(f, "{}", utf8_percent_encode(user, IN_USER))?;
        }
        if let Some(password) = &url.password {
            let password = password.expose();
            write!(f, ":{}", utf8_percent_encode(password, IN_USER))?;
        }
        if url.user.is_some() || url.password.is_some() {
            f.write_str("@")?;
        }
        for (i, host) in url.hosts.iter().enumerate() {
            write!(f, "{}{host}", if i == 0 { "" } else { "," })?;
        }
        write!(f, "{}", utf8_percent_encode(&url.path, RESERVED))?;
        for (i, (key, value)) in url.params.iter().enumerate() {
            let separator = if i == 0 { '?' } else { '&' };
            let value = utf8_percent_encode(value, IN_VALUE);
            write!(f, "{separator}{key}={value}")?;
        }
        Ok(())
    }
}
