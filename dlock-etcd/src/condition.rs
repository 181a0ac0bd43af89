//! Writes to etcd that happen only under the lock.

use dlock_core::{Error, ErrorKind, Guard, LostCause, Result};

use crate::hold::Hold;

/// The condition under which a transaction of etcd happens only while the lock is held.
///
/// etcd itself compares: a write that was sent in time and arrives late is refused, independent of all
/// clocks. In the words of any client: *if the create revision of `key` is `create_revision`*.
///
/// ```no_run
/// use dlock_core::Locker;
/// use dlock_etcd::TxnCondition;
/// use etcd_client::{Client, Compare, CompareOp, Txn, TxnOp};
///
/// # async fn example(locks: Locker) -> Result<(), Box<dyn std::error::Error>> {
/// // locks = dlock::connect("etcd://127.0.0.1").await?
/// let guard = locks.acquire("leader").await?;
///
/// let held = TxnCondition::of(&guard)?;
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
pub struct TxnCondition {
    /// The key of the lock's holder.
    pub key: String,
    /// The revision in which the key was created, a new one for each grant: the token, without a
    /// `token_base`.
    pub create_revision: i64,
}

impl TxnCondition {
    /// The condition of a held lock.
    ///
    /// # Errors
    ///
    /// `Lost` if the lock is not held any more; `InvalidInput` if it is another backend's.
    pub fn of(guard: &Guard) -> Result<Self> {
        let foreign = || Error::new(ErrorKind::InvalidInput, "this guard is not of etcd");
        let hold = Hold::of(guard.lease()).ok_or_else(foreign)?;
        if !guard.is_held() {
            return Err(Error::lost(LostCause::Removed));
        }
        Ok(Self {
            key: hold.key.keys.own.clone(),
            create_revision: hold.created,
        })
    }
}
