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
    /// The format of names and nodes; `None` for the backend's own.
    format: Option<&'static str>,
    /// The part of a store that has one version.
    scope: &'static str,
}

impl LayoutVersion {
    /// Makes the version with this number.
    #[must_use]
    pub const fn new(version: u32) -> Self {
        Self {
            version,
            format: None,
            scope: "prefix",
        }
    }

    /// Makes the same version for a store that keeps one for each `scope`, such as a `"database"`, and not
    /// for each prefix.
    #[must_use]
    pub const fn per(self, scope: &'static str) -> Self {
        Self { scope, ..self }
    }

    /// Makes the same version for another `format` than the backend's own. Programs of two formats do not exclude
    /// each other, so the text of one is refused by the other.
    ///
    /// ```
    /// use dlock_core::backend::LayoutVersion;
    ///
    /// let plain = LayoutVersion::new(1).in_format("plain");
    /// assert_eq!(plain.to_string(), "1-plain");
    /// assert!(plain.check("redis", "1").is_err());
    /// ```
    #[must_use]
    pub const fn in_format(self, format: &'static str) -> Self {
        Self {
            format: Some(format),
            ..self
        }
    }

    /// Compares this version with the text that was found in the store.
    ///
    /// # Errors
    ///
    /// `InvalidConfig`, with both numbers, when `found` is an older or a newer version; with both formats when
    /// it is of another format; and with what was found when it is no version at all.
    pub fn check(self, backend: &'static str, found: &str) -> Result<()> {
        let Self {
            version: ours,
            format,
            scope,
        } = self;
        let (number, found_format) = match found.split_once('-') {
            Some((number, format)) => (number, Some(format)),
            None => (found, None),
        };
        let message = match number.parse::<u32>() {
            Ok(version) if version == ours && found_format == format => return Ok(()),
            Ok(version) if version == ours => format!(
                "the locks of this {scope} are kept in {}, and this program has {}: the two do not exclude each \
                 other; set the same format=, or use another {scope}",
                described(found_format),
                described(format),
            ),
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

fn described(format: Option<&str>) -> String {
    format.map_or_else(
        || "the default format".to_owned(),
        |format| format!("format={format}"),
    )
}

impl fmt::Display for LayoutVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.version.fmt(f)?;
        self.format.map_or(Ok(()), |format| write!(f, "-{format}"))
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

    #[test]
    fn another_format_is_refused_with_both() {
        let own = LayoutVersion::new(2);
        let plain = own.in_format("plain");
        assert_eq!(
            (own.to_string(), plain.to_string()),
            ("2".into(), "2-plain".into())
        );
        plain.check("redis", "2-plain").unwrap();
        let error = own.check("redis", "2-plain").unwrap_err().to_string();
        assert!(
            error.contains("kept in format=plain, and this program has the default format"),
            "{error}"
        );
        let error = plain.check("redis", "2").unwrap_err().to_string();
        assert!(
            error.contains("kept in the default format, and this program has format=plain"),
            "{error}"
        );
        let error = plain.check("redis", "2-other").unwrap_err().to_string();
        assert!(error.contains("format=other"), "{error}");
        let error = plain.check("redis", "3-plain").unwrap_err().to_string();
        assert!(error.contains("layout 3"), "{error}");
    }
}
