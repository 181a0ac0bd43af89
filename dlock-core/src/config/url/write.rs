//! A URL as a text in normal form.

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::BackendUrl;
use crate::config::secret::{MASK, is_secret_key};

/// Whether a text has the secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secrets {
    Masked,
    Exposed,
}

/// A URL to be written.
pub(super) struct Written<'a>(pub(super) &'a BackendUrl, pub(super) Secrets);

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
        let Self(url, secrets) = self;
        write!(f, "{}:", url.scheme)?;
        // Without the empty authority, a path of two slashes would be read as a host.
        if !url.hosts.is_empty() || url.path.starts_with("//") {
            f.write_str("//")?;
        }
        if let Some(user) = &url.user {
            write!(f, "{}", utf8_percent_encode(user, IN_USER))?;
        }
        if let Some(password) = &url.password {
            match secrets {
                Secrets::Masked => write!(f, ":{password}")?,
                Secrets::Exposed => {
                    let password = password.expose();
                    write!(f, ":{}", utf8_percent_encode(password, IN_USER))?;
                }
            }
        }
        if url.user.is_some() || url.password.is_some() {
            f.write_str("@")?;
        }
        for (i, host) in url.hosts.iter().enumerate() {
            write!(f, "{}{host}", if i == 0 { "" } else { "," })?;
        }
        write!(f, "{}", utf8_percent_encode(&url.path, RESERVED))?;
        for (i, (key, value)) in url.params.iter().enumerate() {
            let is_masked = *secrets == Secrets::Masked && is_secret_key(key);
            let value = if is_masked { MASK } else { value };
            let separator = if i == 0 { '?' } else { '&' };
            write!(
                f,
                "{separator}{key}={}",
                utf8_percent_encode(value, IN_VALUE)
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for BackendUrl {
    /// Writes the URL in normal form, with the password masked.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Written(self, Secrets::Masked).fmt(f)
    }
}

impl fmt::Debug for BackendUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BackendUrl({self})")
    }
}
