//! The version of the keys and values in a store.

use std::fmt;

use crate::base::error::{Error, ErrorKind, Result};

/// The version of a backend's keys and values in its store.
///
/// The store keeps the version under the prefix, and each connect compares it. Two programs that would not
/// understand each other's locks must not both grant them.
///
/// Two releases with the same version work together at the same time, so a fleet can be upgraded one
/// process after another.
///
/// ```
/// use dlock_core::{backend::LayoutVersion, ErrorKind};
///
/// const LAYOUT: LayoutVersion = LayoutVersion::new(2);
///
/// LAYOUT.check("redis", &LAYOUT.to_string())?;
/// let error = LAYOUT.check("redis", "3").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::InvalidConfig);
/// assert!(error.to_string().contains("layout 3") && error.to_string().contains("layout 2"));
/// # Ok::<(), dlock_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LayoutVersion {
    version: u32,
    /// The part of a store that has one version.
    scope: &'static str,
}

impl LayoutVersion {
    /// Makes the version with this number.
    #[must_use]
    pub const fn new(version: u32) -> Self {
        Self {
            version,
            scope: "prefix",
        }
    }

    /// Makes the same version for a store that keeps one for each `scope`, such as a `"database"`, and not
    /// for each prefix.
    #[must_use]
    pub const fn per(self, scope: &'static str) -> Self {
        Self { scope, ..self }
    }

    /// Compares this version with the text that was found in the store.
    ///
    /// # Errors
    ///
    /// `InvalidConfig`, with both numbers, when `found` is an older or a newer version; and with what
    /// was found when it is no version at all.
    pub fn check(self, backend: &'static str, found: &str) -> Result<()> {
        let Self {
            version: ours,
            scope,
        } = self;
        let message = match found.parse::<u32>() {
            Ok(version) if version == ours => return Ok(()),
            Ok(version) => {
                let newer = if version > ours {
                    "this dlock"
                } else {
                    "the other programs"
                };
                format!(
                    "the locks of this {scope} are kept in layout {version}, and this dlock has layout {ours}: \
                     the two do not exclude each other; upgrade {newer}, or use another {scope}"
                )
            }
            Err(_) => format!(
                "the layout version is {found:?}, not a number ({ours} in this dlock); use another {scope}, or \
                 remove the version when no lock is held"
            ),
        };
        let error = Error::new(ErrorKind::InvalidConfig, message);
        Err(error.in_context("connect", backend, None))
    }
}

impl fmt::Display for LayoutVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.version.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_says_who_has_to_be_upgraded() {
        let ours = LayoutVersion::new(2);
        let of = |found| ours.check("etcd", found).unwrap_err().to_string();
        assert!(
            of("1").contains("upgrade the other programs"),
            "{}",
            of("1")
        );
        assert!(of("3").contains("upgrade this dlock"), "{}", of("3"));
        assert!(of("x").contains("\"x\""), "{}", of("x"));
    }
}
