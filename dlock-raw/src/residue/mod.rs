//! Traces of locks in a store, by the names of the locks: to list, and to remove.
//!
//! Each name is looked up by its exact key, directory, row or file. Nothing is searched for, and the traces of other
//! names are not touched. The token counters and dlock's own records belong to all names: they stay.

#[cfg(feature = "etcd")]
mod etcd;
mod file;
mod left;
#[cfg(feature = "mysql")]
mod mysql;
mod nested;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "zk")]
mod zk;

use std::{fmt, future::Future, pin::Pin};

use dlock_core::{Error, ErrorKind, LockName, Result, config::Config};
use dlock_layers::parts;

use self::left::Store;
pub use self::left::{Cleared, InUse, Kind, Left};
use crate::family::Family;

/// The traces of locks in one store.
///
/// ```no_run
/// use dlock_core::{LockName, config::Config};
/// use dlock_raw::residue::{Kind, Residue};
///
/// # async fn clean() -> dlock_core::Result<()> {
/// let residue = Residue::open(&Config::from_url("redis://db-1")?).await?;
/// let names = [LockName::new("dlock-verify/7f3a/a")?];
/// let left = residue.list(&names).await?;
/// assert!(left.iter().all(|left| left.kind == Kind::Kept));
/// println!("{} removed", residue.remove(&names).await?.len());
/// # Ok(())
/// # }
/// ```
pub struct Residue(Box<dyn Store>);

/// The permanent entries that dlock makes in a store for all locks, in words; `None` for an unknown `scheme` of a URL.
///
/// [`Residue`] does not list them, and nothing removes them.
///
/// ```
/// use dlock_raw::residue::permanent;
///
/// assert_eq!(permanent("mysql"), Some("the tables"));
/// assert_eq!(permanent("memory"), None);
/// ```
#[must_use]
pub fn permanent(scheme: &str) -> Option<&'static str> {
    Family::of(scheme).map(|family| match family {
        Family::File => "the link layout, after a migration also migration.move",
        Family::Etcd => "the key %dlock-layout, after a migration also %dlock-migration",
        Family::MySql => "the tables",
        Family::Redis => {
            "the keys {all}fence and {all}record, after a migration also {all}migration"
        }
        Family::Zk => "the node %layout, after a migration also %migration",
        Family::Migrate => "those of both stores, and the records of the migration",
        Family::Quorum => "those of its nodes",
    })
}

impl Residue {
    /// Connects to the store that `config` names, with its prefix.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a URL that dlock refuses, and for a store without traces, such as `memory:`. `Unavailable`
    /// and others if the store does not answer. Of a store that is made of others, if none of these does: see
    /// [`unreached`](Self::unreached).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection.
    pub async fn open(config: &Config) -> Result<Self> {
        let scheme = config.url().scheme();
        let store: Box<dyn Store> = match Family::of(scheme) {
            Some(Family::File) => Box::new(file::Files::open(config)?),
            #[cfg(feature = "etcd")]
            Some(Family::Etcd) => Box::new(etcd::Etcd::open(config).await?),
            #[cfg(feature = "mysql")]
            Some(Family::MySql) => Box::new(mysql::MySql::open(config).await?),
            #[cfg(feature = "redis")]
            Some(Family::Redis) => Box::new(redis::Redis::open(config).await?),
            #[cfg(feature = "zk")]
            Some(Family::Zk) => Box::new(zk::ZooKeeper::open(config).await?),
            Some(Family::Migrate | Family::Quorum) => open_parts(config).await?,
            _ => {
                let why = format!("{scheme}: has no traces of locks that other programs can list");
                return Err(Error::new(ErrorKind::InvalidConfig, why));
            }
        };
        Ok(Self(store))
    }

    /// Lists what is left of these locks, one name after another.
    ///
    /// # Errors
    ///
    /// When the store does not answer, or refuses to.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn list(&self, names: &[LockName]) -> Result<Vec<Left>> {
        let mut all = Vec::new();
        for name in names {
            all.extend(self.0.list(name).await?);
        }
        Ok(all)
    }

    /// Lists locks that are held or waited for, of all names under the prefix: at most `max` places. A lock may have several.
    ///
    /// Under a prefix that is the begin of another one, the locks of that one are listed, too.
    ///
    /// # Errors
    ///
    /// `Unsupported` where locks cannot be separated from other data, as with an empty prefix of Redis or etcd. `Denied` for a
    /// user without the right to list. Others when the store does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn in_use(&self, max: usize) -> Result<Vec<InUse>> {
        self.0.in_use(max).await
    }

    /// Removes what is left of these locks, also locks that are held; returns what it removed.
    ///
    /// A row or a file that another process has locked stays, as removing it would break the exclusion.
    ///
    /// # Errors
    ///
    /// When the store does not answer, or refuses to. What was removed before stays removed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the rest in the store.
    pub async fn remove(&self, names: &[LockName]) -> Result<Vec<Left>> {
        self.remove_of(&[Kind::Lock, Kind::Kept], names).await
    }

    /// Removes what is left of these locks, as [`remove`](Self::remove) does; also counts what stays. A store may do it
    /// with one request for all of them.
    ///
    /// # Errors
    ///
    /// As [`remove`](Self::remove).
    ///
    /// # Cancel safety
    ///
    /// As [`remove`](Self::remove).
    pub async fn clear(&self, names: &[LockName]) -> Result<Cleared> {
        self.0.clear(names).await
    }

    /// As [`remove`](Self::remove), but leaves what is [`Kind::Kept`]: the holders of the locks lose them.
    ///
    /// # Errors
    ///
    /// As [`remove`](Self::remove).
    ///
    /// # Cancel safety
    ///
    /// As [`remove`](Self::remove).
    pub async fn remove_locks(&self, names: &[LockName]) -> Result<Vec<Left>> {
        self.remove_of(&[Kind::Lock], names).await
    }

    /// The error of a store that this one is made of and that could not be reached, such as a node of a quorum. What is left
    /// there is not known; in the others it is listed and removed. `None` if all were reached.
    #[must_use]
    pub fn unreached(&self) -> Option<Error> {
        self.0.unreached()
    }

    /// Ends the session with the store, if it has one: a program that ends at once would leave it until its time-out.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the session until its time-out.
    pub async fn close(self) {
        self.0.close().await;
    }

    async fn remove_of(&self, kinds: &[Kind], names: &[LockName]) -> Result<Vec<Left>> {
        let mut removed = Vec::new();
        for left in self.list(names).await? {
            if kinds.contains(&left.kind) && self.0.remove(&left).await? {
                removed.push(left);
            }
        }
        Ok(removed)
    }
}

type Opening<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn Store>>> + Send + 'a>>;

/// Connects to all stores that a store is made of.
fn open_parts(config: &Config) -> Opening<'_> {
    Box::pin(async move {
        let mut stores = nested::Nested::default();
        for part in parts(config)?.unwrap_or_default() {
            let store = Residue::open(&part.config).await;
            stores.add(part.label, store.map(|Residue(store)| store));
        }
        Ok(Box::new(stores.checked()?) as Box<dyn Store>)
    })
}

impl fmt::Debug for Residue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Residue").finish_non_exhaustive()
    }
}
