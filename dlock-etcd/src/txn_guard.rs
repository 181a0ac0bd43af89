//! Writes to etcd that happen only under the lock.

/// What lets a transaction of etcd happen only while the lock is held (T35): etcd itself compares, so
/// a write that was sent in time and arrives late is refused, whatever the clocks say.
///
/// In the words of any client: *if the create revision of `key` is `create_revision`*.
///
/// ```no_run
/// # use std::sync::Arc;
/// use dlock_core::{Locker, config::{Config, Registry}};
/// use dlock_etcd::{EtcdConfig, EtcdLock};
/// use etcd_client::{Client, Compare, CompareOp, Txn, TxnOp};
///
/// # async fn example(config: EtcdConfig) -> Result<(), Box<dyn std::error::Error>> {
/// let etcd = Arc::new(EtcdLock::connect(config).await?);
/// let locks = Locker::builder(etcd.clone()).build()?;
/// let guard = locks.acquire("leader").await?;
///
/// let held = etcd.txn_guard(&guard)?;
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
    /// The revision in which it was made, which no other one has: the token of the grant, without a
    /// `token_base`.
    pub create_revision: i64,
}
