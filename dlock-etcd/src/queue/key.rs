//! One attempt's key in the queue of its name.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dlock_core::{
    Holder, Result,
    backend::{AcquireRequest, Renewal},
};
use etcd_client::{Compare, CompareOp, KeyValue, PutOptions, Txn, TxnOp};

use crate::{
    errors,
    keys::{self, Keys},
    lease::{
        attached::AttachedLeases, etcd_lease::EtcdLease, lease_ref::LeaseRef,
        poll_watchdog::PollWatchdog,
    },
    queue::{
        batch::{Op, TxnReply},
        context::QueueContext,
        key_pool::KeyId,
    },
    ranges::one_key,
};

/// The key of an attempt, created or not.
pub(crate) struct QueueKey {
    pub(crate) context: Arc<QueueContext>,
    id: KeyId,
    pub(crate) keys: Keys,
    /// The lease that the key is created on.
    pub(crate) lease: Arc<EtcdLease>,
    /// The leases that the key may be attached to: that one, until it moves.
    pub(crate) leases: AttachedLeases,
    /// Whether no other key uses the lease.
    pub(crate) owns_lease: bool,
    value: String,
    pub(crate) watchdog: Arc<PollWatchdog>,
    /// Whether a request that creates the key may still be under way.
    pub(crate) effect_unknown: AtomicBool,
    /// Whether the key was granted, or is being undone: only one of both can be.
    claimed: AtomicBool,
    /// Whether the store has confirmed that the key is gone: another attempt may have it now.
    retired: AtomicBool,
}

impl QueueKey {
    /// The key for an attempt that waits, not created yet. An attempt that is repeated as a whole has the
    /// same key.
    pub(crate) fn new(
        context: &Arc<QueueContext>,
        lease: LeaseRef,
        request: &AcquireRequest,
        watchdog: &Arc<PollWatchdog>,
    ) -> Arc<Self> {
        let config = &context.members.config;
        let (format, prefix) = (config.format, config.key_prefix());
        let queue = keys::queue(format, prefix, &request.name);
        let id = context.key_pool.take(&queue, request.attempt.id());
        let key = Arc::new(Self {
            keys: Keys::new(format, prefix, &request.name, queue, &id.digits()),
            context: context.clone(),
            id,
            lease: lease.lease.clone(),
            leases: AttachedLeases::new(lease),
            owns_lease: request.renewal == Renewal::None,
            value: Holder::encode(request, None),
            watchdog: watchdog.clone(),
            effect_unknown: AtomicBool::new(false),
            claimed: AtomicBool::new(false),
            retired: AtomicBool::new(false),
        });
        let waiter = Arc::downgrade(&key);
        key.leases.set_waiting(waiter);
        key
    }

    /// Claims the right to grant or to undo the key; true for the first caller only.
    pub(crate) fn claim(&self) -> bool {
        !self.claimed.swap(true, Ordering::AcqRel)
    }

    /// Whether the key is granted, or being undone.
    pub(crate) fn is_claimed(&self) -> bool {
        self.claimed.load(Ordering::Acquire)
    }

    /// Whether a request that creates the key may still be under way.
    pub(crate) fn is_effect_unknown(&self) -> bool {
        self.effect_unknown.load(Ordering::Acquire)
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    /// Separates the key from its attempt: the attempt's next key is another one, so that an undo of this
    /// one does not hit it.
    pub(crate) fn detach_key(&self) {
        self.context.key_pool.rotate(self.id);
    }

    /// The key does not exist in the store, and no request will create it.
    pub(crate) fn retire_key(&self) {
        if self.retired.swap(true, Ordering::AcqRel) {
            return;
        }
        if self.is_effect_unknown() {
            self.context.key_pool.rotate(self.id);
        } else {
            self.context.key_pool.give_back(&self.keys.queue, self.id);
        }
    }

    /// Writes the key, attached to `lease`.
    pub(crate) fn put(&self, lease: &EtcdLease) -> TxnOp {
        let options = PutOptions::new().with_lease(lease.id());
        TxnOp::put(&*self.keys.own, &*self.value, Some(options))
    }

    /// Runs a transaction that creates the key; `None` if the lease is gone. Dropped before its end, it
    /// leaves the effect unknown.
    pub(crate) async fn run_create(
        self: &Arc<Self>,
        txn: impl Fn(&Self) -> Txn + Send + Sync + 'static,
    ) -> Result<Option<TxnReply>> {
        let effect_unknown = AtomicBool::new(self.effect_unknown.swap(true, Ordering::AcqRel));
        // After that: an undo finds the effect unknown, or is found here.
        if self.is_claimed() {
            return Err(errors::unpolled());
        }
        let key = self.clone();
        let create = Op::Change {
            queue: self.keys.queue.clone(),
            txn: Box::new(move || txn(&key)),
        };
        let reply = self.context.batcher.run(create, &effect_unknown).await;
        self.effect_unknown
            .store(effect_unknown.load(Ordering::Acquire), Ordering::Release);
        if matches!(reply, Ok(None)) {
            self.lease.mark_ended();
        }
        reply
    }

    /// Whether this is the key of the attempt, or of an earlier run of it.
    pub(crate) fn is_own(&self, key: &KeyValue) -> bool {
        match self.keys.format.has_queue() {
            true => key.key() == self.keys.own.as_bytes(),
            false => key.value().starts_with(self.attempt()),
        }
    }

    /// The start of the values of this attempt, however often it is repeated.
    fn attempt(&self) -> &[u8] {
        let attempt = self.value.split_inclusive(' ').next();
        attempt.unwrap_or_default().as_bytes()
    }

    /// The value that makes the key ours, if other clients write the same key.
    pub(crate) fn shared_value(&self) -> Option<Vec<u8>> {
        (!self.keys.format.has_queue()).then(|| self.value.clone().into_bytes())
    }

    /// Whether the attempt's own key has the attempt's value; a key in a queue has no other one.
    pub(crate) fn has_own_value(&self, key: &KeyValue) -> bool {
        self.keys.format.has_queue() || key.value() == self.value.as_bytes()
    }

    /// The comparison that fails when another one has written the key; none for a key in a queue.
    pub(crate) fn when_own_value(&self) -> Option<Compare> {
        let value = self.shared_value()?;
        Some(Compare::value(&*self.keys.own, CompareOp::Equal, value))
    }

    /// Reads the attempt's own key, with its value if others write it.
    pub(crate) fn read_own(&self) -> TxnOp {
        TxnOp::get(&*self.keys.own, Some(one_key(self.keys.format)))
    }
}
