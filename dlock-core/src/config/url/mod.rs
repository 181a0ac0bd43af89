//! The URL of a store.

mod bounds;
mod change;
mod hide;
mod host;
mod mask;
mod parse;
mod syntax;
mod write;

use std::collections::BTreeMap;

pub use self::host::Host;
pub(super) use self::{hide::masked_value, syntax::check_key};
use super::secret::Secret;

/// The URL of a store: `scheme://user:password@host:port,host/path?key=value&key=value`, or
/// `scheme:path?key=value` for a store without hosts.
///
/// All parts but the scheme may be missing. User, password, path and values are percent-decoded;
/// `+` is a plus sign. The parser is strict: a part that it does not understand is an error. `Display`,
/// `Debug` and errors mask the password.
///
/// A value may be the URL of another store, percent-encoded. Its passwords are masked, too, at every level, and a
/// value that only may be such a URL is rather masked than printed.
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
///
/// let url = BackendUrl::parse("migrate:?from=redis://:hunter2%40db-1&to=etcd://db-2")?;
/// assert_eq!(url.param("from"), Some("redis://:hunter2@db-1"));
/// assert_eq!(url.to_string(), "migrate:?from=redis://:***%40db-1&to=etcd://db-2");
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
    /// The longest URL that is parsed, in bytes. It bounds each nested URL, too.
    pub const BYTES_MAX: usize = 4096;

    /// How deep stores are nested in stores at most: in a store of stores, a value is a URL whose values may be URLs
    /// again. A migration between two quorums needs two levels; the third is spare.
    pub const STORES_NESTED_MAX: usize = bounds::STORES_NESTED_MAX;

    /// The largest number of `[[node]]` tables in a configuration file: more than any quorum that is of use.
    pub const NODES_MAX: usize = 50;

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
}
