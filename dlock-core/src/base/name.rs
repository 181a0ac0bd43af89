//! The name of a lock.

use std::{borrow::Borrow, fmt, sync::Arc};

/// The name of a lock: 1 to 255 bytes of UTF-8 without control characters (K10).
///
/// Case counts, and no two names ever meet in one lock. `a` and `a/b`, `a{b}`, `.` and `..`, names with spaces are
/// all different and all allowed. Each backend escapes the characters that its store does not take.
///
/// ```
/// use dlock_core::LockName;
///
/// assert_eq!(LockName::new("invoices/2026-08")?.as_str(), "invoices/2026-08");
/// assert!(LockName::new("two\nlines").is_err());
/// # Ok::<(), dlock_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockName(pub(super) Arc<str>);

impl LockName {
    /// The longest name, in bytes: what fits a column or a file name without hashing surprises.
    pub const BYTES_MAX: usize = 255;

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl AsRef<str> for LockName {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

/// Maps with names as keys are searched by text.
impl Borrow<str> for LockName {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl From<LockName> for String {
    fn from(name: LockName) -> Self {
        name.as_str().to_owned()
    }
}

impl From<&Self> for LockName {
    fn from(name: &Self) -> Self {
        name.clone()
    }
}
