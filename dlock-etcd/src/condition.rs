//! Writes to etcd that happen only under the lock.

use dlock_core::{Error, ErrorKind, Guard, LostCause, Result};

use crate::hold::Held;

/// What lets a transaction of etcd happen only while the lock is held (T35): etcd itself compares, so
/// a write that was sent in time and arrives late is refused, whatever the clocks say.
///
/// In the words of any client: *if the create revision of `key` is `create_revision`*.
///
/// ```no_run
/// use dlock_core::Locker;
/// use dlock_etcd::TxnGuard;
/// use etcd_client::{Client, Compare, CompareOp, Txn, TxnOp};
///
/// # async fn example(locks: Locker) -> Result<(), Box<dyn std::error::Error>> {
/// // locks = dlock::connect("etcd://127.0.0.1").await?
/// let guard = locks.acquire("leader").await?;
///
/// let held = TxnGuard::of(&guard)?;
/// let is_held = Compare::create_revision(held.key, CompareOp::Equal, held.create_revision);
/// let write = TxnOp::put("config/colour", "green", None);
/// let mut client = Client::connect(["127.0.0.1:2379"], None).await?;
/// let answer = client.txn(Txn::new().when([is_held]).and_then([write])).await?;
/// assert!(answer.succeeded(), "the lock was lost before the write");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TxnGuard {
    /// The key of the lock's holder.
    pub key: String,
    /// The revision in which it was made, another one each time: the token of the grant, without a
    /// `token_base`.
    pub create_revision: i64,
}

impl TxnGuard {
    /// That of a held lock.
    ///
    /// # Errors
    ///
    /// `Lost` if it is not held any more; `InvalidInput` if it is another backend's.
    pub fn of(guard: &Guard) -> Result<Self> {
        let foreign = || Error::new(ErrorKind::InvalidInput, "this guard is not of etcd");
        let held = Held::of(guard.lease()).ok_or_else(foreign)?;
        if !guard.is_held() {
            return Err(Error::lost(LostCause::Removed));
        }
        Ok(Self {
            key: held.entry.keys.own.clone(),
            create_revision: held.made,
        })
    }
}
