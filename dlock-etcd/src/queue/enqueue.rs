//! The transactions that create a key in its queue.

use std::sync::Arc;

use dlock_core::Result;
use etcd_client::{Compare, CompareOp, KeyValue, Txn, TxnOp};

use crate::{
    errors,
    queue::{key::QueueKey, position::Position},
    ranges::{first_key, holder_of, keys_only, last_of_queue, ranges},
};

impl QueueKey {
    /// Creates the key if the queue is empty; writes nothing if the lock is taken. One round trip.
    pub(crate) async fn create_if_first(self: &Arc<Self>) -> Result<Position> {
        let create = |key: &Self| {
            let holder = TxnOp::get(&*key.keys.queue, Some(holder_of(key.keys.format)));
            key.create_in_empty().or_else([holder])
        };
        let Some(reply) = self.run_create(create).await? else {
            return Ok(Position::LeaseGone);
        };
        if reply.succeeded {
            return Ok(Position::of(reply.revision, None, reply.revision));
        }
        // K9: the holder may be our own key, of a try whose reply was lost.
        let holder = ranges(reply.ops).next().and_then(first_key);
        match holder {
            Some(own) if self.is_own(&own) => match Box::pin(self.attach(&own)).await? {
                true => Ok(Position::of(own.create_revision(), None, reply.revision)),
                false => Ok(Position::Absent),
            },
            Some(_) => Ok(Position::Taken {
                seen: reply.revision,
            }),
            None => Ok(Position::Absent),
        }
    }

    /// Creates the key at the end of the queue, unless it exists. One round trip if the queue is empty,
    /// else two: as one transaction both would cost more, and most queues are empty.
    ///
    /// Without a queue a lock that is taken is tried again after its release.
    pub(crate) async fn enqueue(self: &Arc<Self>) -> Result<Position> {
        if !self.keys.format.has_queue() {
            return self.create_if_first().await;
        }
        match self.run_create(Self::create_in_empty).await? {
            None => Ok(Position::LeaseGone),
            Some(reply) if reply.succeeded => {
                Ok(Position::of(reply.revision, None, reply.revision))
            }
            Some(_) => Box::pin(self.enqueue_behind()).await,
        }
    }

    async fn enqueue_behind(self: &Arc<Self>) -> Result<Position> {
        let Some(reply) = self.run_create(Self::create_behind).await? else {
            return Ok(Position::LeaseGone);
        };
        let (created, revision) = (reply.succeeded, reply.revision);
        let range = ranges(reply.ops).next();
        let range = range.ok_or_else(|| errors::unexpected_reply("no range"))?;
        if created {
            let predecessor = self.predecessor(&range);
            return Ok(Position::of(revision, predecessor, revision));
        }
        // An earlier try has created it.
        match first_key(range) {
            Some(own) if self.attach(&own).await? => {
                self.read_position(own.create_revision()).await
            }
            _ => Ok(Position::Absent),
        }
    }

    /// Attaches the existing key to our lease; whether it is attached now. An attempt that is repeated as a
    /// whole finds the key of its first run, on another lease.
    async fn attach(self: &Arc<Self>, own: &KeyValue) -> Result<bool> {
        if own.lease() == self.lease.id() && self.has_own_value(own) {
            return Ok(true);
        }
        let created = own.create_revision();
        let attach = move |key: &Self| {
            let is_there = Compare::create_revision(&*key.keys.own, CompareOp::Equal, created);
            Txn::new().when([is_there]).and_then([key.put(&key.lease)])
        };
        let reply = self.run_create(attach).await?;
        Ok(reply.is_some_and(|reply| reply.succeeded))
    }

    /// A transaction that creates the key if the queue is empty.
    fn create_in_empty(&self) -> Txn {
        let is_empty = Compare::create_revision(&*self.keys.queue, CompareOp::Equal, 0);
        let is_empty = match self.keys.format.has_queue() {
            true => is_empty.with_prefix(),
            false => is_empty,
        };
        Txn::new()
            .when([is_empty, self.has_no_tombstone()])
            .and_then([self.put(&self.lease)])
    }

    /// A transaction that creates the key at the end of the queue, unless it exists.
    fn create_behind(&self) -> Txn {
        let own = &*self.keys.own;
        let is_absent = Compare::create_revision(own, CompareOp::Equal, 0);
        // The last two keys: our own, which is new, and the one before it.
        let last = TxnOp::get(&*self.keys.queue, Some(last_of_queue(keys_only(), 2)));
        Txn::new()
            .when([is_absent, self.has_no_tombstone()])
            .and_then([self.put(&self.lease), last])
            .or_else([TxnOp::get(own, Some(keys_only()))])
    }

    /// The comparison that fails for a request which arrives after the key was undone.
    fn has_no_tombstone(&self) -> Compare {
        Compare::create_revision(&*self.keys.tombstone, CompareOp::Equal, 0)
    }
}
