//! Something that dlock left in a store.

use dlock_core::{Error, ErrorKind, LockName, Result, backend::async_trait};

/// Whether something may be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A lock, or a place in its queue. None is left when all guards have ended (K12).
    Lock,
    /// A row, a file or a directory that dlock keeps for the next holder.
    Kept,
}

/// Something that dlock left in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Left {
    /// The lock that it is of.
    pub name: LockName,
    /// The key, path or row in the store.
    pub place: String,
    /// Whether it may be left.
    pub kind: Kind,
}

/// A lock that is held or waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InUse {
    /// The key, path or row in the store.
    pub place: String,
    /// The name of the lock; `None` where the place does not have it whole, as the file of a long name.
    pub name: Option<LockName>,
}

impl InUse {
    pub(super) fn new(place: impl Into<String>, name: impl AsRef<str>) -> Self {
        Self {
            place: place.into(),
            name: LockName::new(name.as_ref()).ok(),
        }
    }
}

/// The count of what was removed of locks, and of what stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cleared {
    /// Entries that were removed.
    pub removed: u64,
    /// Entries that are in use, or that were removed by another client just then.
    pub stays: u64,
    /// How many of both were of [`Kind::Lock`].
    pub locks: u64,
}

/// A store in which a lock's traces are found by its name.
#[async_trait]
pub(super) trait Store: Send + Sync {
    /// Lists the traces of a lock. Those in a directory come before the directory.
    async fn list(&self, name: &LockName) -> Result<Vec<Left>>;

    /// Removes it; whether it did.
    async fn remove(&self, left: &Left) -> Result<bool>;

    /// Removes the traces of several locks. By default one after another.
    async fn clear(&self, names: &[LockName]) -> Result<Cleared> {
        let mut cleared = Cleared::default();
        for name in names {
            for left in self.list(name).await? {
                cleared.locks += u64::from(left.kind == Kind::Lock);
                match self.remove(&left).await? {
                    true => cleared.removed += 1,
                    false => cleared.stays += 1,
                }
            }
        }
        Ok(cleared)
    }

    /// Lists at most `max` locks that are held or waited for, of all names. Places of other data may be among them only if
    /// they have the form of a lock.
    async fn in_use(&self, max: usize) -> Result<Vec<InUse>> {
        let _ = max;
        let why = "the locks of this store cannot be listed";
        Err(Error::new(ErrorKind::Unsupported, why))
    }

    /// The first store inside that could not be reached.
    fn unreached(&self) -> Option<Error> {
        None
    }

    /// Ends what the connection itself has in the store. By default that is nothing.
    async fn close(self: Box<Self>) {}
}

impl Left {
    pub(super) fn new(name: &LockName, place: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.clone(),
            place: place.into(),
            kind,
        }
    }
}

/// The refusal to list all keys of a server for those of locks.
#[cfg(any(feature = "etcd", feature = "redis"))]
pub(super) fn without_prefix() -> Error {
    let why = "with an empty prefix= the keys of locks cannot be separated from other keys";
    Error::new(ErrorKind::Unsupported, why)
}

/// The text `escaped` without its percent-encoding; empty, which is no name, if that is not text.
pub(super) fn unescaped(escaped: &str) -> String {
    let bytes = percent_encoding::percent_decode_str(escaped);
    bytes
        .decode_utf8()
        .map_or_else(|_| String::new(), Into::into)
}
