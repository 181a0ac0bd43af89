//! Text that is never printed.

use std::fmt;

/// The text that is printed in place of a secret.
pub(super) const MASK: &str = "***";

/// A password. `Debug` and `Display` print `***`; only [`Secret::expose`] gives it away.
///
/// ```
/// use dlock_core::config::Secret;
///
/// let password = Secret::new("hunter2");
/// assert_eq!(format!("{password} {password:?}"), "*** ***");
/// assert_eq!(password.expose(), "hunter2");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text`.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself: for the driver that logs in with it, never for a message.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// Whether the value of the URL key `key` is a secret.
///
/// The name decides, so that it is known before any backend has read the URL. A key that no backend has
/// counts, too, as in `passwd` or in capitals: it is refused, but quoted or traced for that. The place of a password
/// is none: `password_file` and `password_env`.
pub(super) fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    if ["_file", "_env"].iter().any(|place| key.ends_with(place)) {
        return false;
    }
    ["pass", "pw", "secret"]
        .iter()
        .any(|word| key.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_secrets_are_known_by_name() {
        for key in [
            "password",
            "sentinel-password",
            "tls-key-passphrase",
            "client_secret",
            "Password",
            "passwd",
            "auth_pwd",
            "pw",
        ] {
            assert!(is_secret_key(key), "{key}");
        }
        for key in [
            "ttl",
            "prefix",
            "token",
            "token_base",
            "tls-key",
            "password_file",
            "sentinel_password_env",
        ] {
            assert!(!is_secret_key(key), "{key}");
        }
    }
}
