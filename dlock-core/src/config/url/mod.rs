//! The URL of a store.

mod change;
mod host;
mod mask;
mod parse;
mod syntax;
mod write;

use std::collections::BTreeMap;

pub use self::host::Host;
pub(super) use self::syntax::check_key;
use super::secret::{Secret, is_secret_key};

/// The URL of a store: `scheme://user:password@host:port,host/path?key=value&key=value`, or
/// `scheme:path?key=value` for a store without hosts.
///
/// All parts but the scheme may be missing. User, password, path and values are percent-decoded;
/// `+` is a plus sign. The parser is strict: a part that it does not understand is an error. `Display`,
/// `Debug` and errors mask the password.
///
/// ```
/// use dlock_core::config::BackendUrl;
///
/// let url = BackendUrl::parse("zk://zoo-1,zoo-2:2182/app?ttl=10s")?;
/// assert_eq!((url.scheme(), url.path()), ("zk", "/app"));
/// assert_eq!(url.hosts()[1].port, Some(2182));
///
/// let url = BackendUrl::parse("redis://app:hunter2@[::1]:6379/0")?;
/// assert_eq!(url.to_string(), "redis://app:***@[::1]:6379/0");
/// # Ok::<(), dlock_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BackendUrl {
    pub(super) scheme: String,
    pub(super) user: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) hosts: Vec<Host>,
    pub(super) path: String,
    pub(super) params: BTreeMap<String, String>,
}

impl BackendUrl {
    /// The longest URL, in bytes.
    pub const BYTES_MAX: usize = 4096;

    /// The scheme, in lower case: `"redis"`.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The user who logs in.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The password; never empty.
    #[must_use]
    pub fn password(&self) -> Option<&Secret> {
        self.password.as_ref()
    }

    /// The servers, in the order given; empty for a store without any.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The path, decoded, with its leading slash if it has one; empty if there is none.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value of `key`, decoded.
    #[must_use]
    pub fn param(&self, key: &str) -> Option<&str> {
        self.params.get(key).map(String::as_str)
    }

    /// Whether a password is written in the URL, as opposed to the place of one, as in `password_file`.
    ///
    /// ```
    /// use dlock_core::config::BackendUrl;
    ///
    /// assert!(BackendUrl::parse("redis://:hunter2@db-1")?.has_secret());
    /// assert!(!BackendUrl::parse("redis://db-1?password_file=/run/secrets/redis")?.has_secret());
    /// # Ok::<(), dlock_core::Error>(())
    /// ```
    #[must_use]
    pub fn has_secret(&self) -> bool {
        self.password.is_some() || self.params.keys().any(|key| is_secret_key(key))
    }
}
