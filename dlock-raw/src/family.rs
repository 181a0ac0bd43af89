//! The families of stores that have a driver here, each with several schemes.

/// A family of stores.
#[derive(Clone, Copy)]
pub(crate) enum Family {
    File,
    Etcd,
    MySql,
    Redis,
    Zk,
    /// Made of two other stores.
    Migrate,
    /// Made of several stores.
    Quorum,
}

impl Family {
    /// The family of a `scheme`; `None` for `memory` and for a scheme of another project.
    pub(crate) fn of(scheme: &str) -> Option<Self> {
        Some(match scheme {
            "file" => Self::File,
            "etcd" | "etcds" => Self::Etcd,
            "mysql" | "mariadb" => Self::MySql,
            "redis" | "rediss" | "redis-sentinel" | "rediss-sentinel" | "redis-cluster"
            | "rediss-cluster" => Self::Redis,
            "zk" | "zks" => Self::Zk,
            "migrate" => Self::Migrate,
            "quorum" | "redis-quorum" | "rediss-quorum" => Self::Quorum,
            _ => return None,
        })
    }
}

/// The name of the backend that has this `scheme`; `None` for a store that this crate knows nothing of.
///
/// Such a store has no floor and no probe, and [`Residue`](crate::residue::Residue) cannot list its entries.
///
/// ```
/// use dlock_raw::backend;
///
/// assert_eq!(backend("rediss-cluster"), Some("redis"));
/// assert_eq!(backend("ledger"), None);
/// ```
#[must_use]
pub fn backend(scheme: &str) -> Option<&'static str> {
    Family::of(scheme).map(|family| match family {
        Family::File => "file",
        Family::Etcd => "etcd",
        Family::MySql => "mysql",
        Family::Redis => "redis",
        Family::Zk => "zk",
        Family::Migrate => "migrate",
        Family::Quorum => "quorum",
    })
}
