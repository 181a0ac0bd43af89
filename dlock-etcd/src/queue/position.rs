//! The position of a key in its queue.

use dlock_core::Result;
use etcd_client::{GetOptions, GetResponse, Txn, TxnOp};

use crate::{
    queue::key::QueueKey,
    ranges::{first_key, keys_only, last_of_queue, ranges, revision},
};

/// The position of an attempt's key.
#[derive(Debug)]
pub(crate) enum Position {
    /// The first: the lock is ours, since this revision.
    First(i64),
    /// Behind the key of an earlier attempt, as of revision `seen`.
    Behind {
        created: i64,
        predecessor: Predecessor,
        seen: i64,
    },
    /// Another one holds the lock, as of revision `seen`, and the attempt has no key.
    Taken { seen: i64 },
    /// The attempt has no key.
    Absent,
    /// The lease has ended.
    LeaseGone,
}

/// The key before an attempt's own key.
#[derive(Debug)]
pub(crate) struct Predecessor {
    pub(crate) key: Vec<u8>,
    /// Whether it is the first of the queue.
    pub(crate) is_first: bool,
}

impl Position {
    /// The position of a key that was created in revision `created`, behind `predecessor`.
    pub(crate) fn of(created: i64, predecessor: Option<Predecessor>, seen: i64) -> Self {
        match predecessor {
            None => Self::First(created),
            Some(predecessor) => Self::Behind {
                created,
                predecessor,
                seen,
            },
        }
    }
}

impl QueueKey {
    /// Reads the position of the key that was created in revision `created`. The key may be gone: its lease
    /// may have ended during the wait.
    pub(crate) async fn read_position(&self, created: i64) -> Result<Position> {
        let read = self.read(created, keys_only()).await;
        read.map(|(position, _)| position)
    }

    /// Reads the position like [`read_position`](Self::read_position), after a watch event, from the member's own
    /// data.
    ///
    /// Any revision since the key's creation gives the right answer. No key is ever inserted before it, and it
    /// exists until its lease ends by the clock.
    pub(crate) async fn read_position_of_member(&self, created: i64) -> Result<Position> {
        match self.read(created, keys_only().with_serializable()).await {
            Ok((position @ (Position::First(_) | Position::Absent), seen)) if seen >= created => {
                Ok(position)
            }
            _ => self.read_position(created).await,
        }
    }

    /// The position, and the revision in which it was read.
    async fn read(&self, created: i64, options: GetOptions) -> Result<(Position, i64)> {
        let before = last_of_queue(options.clone(), 1).with_max_create_revision(created - 1);
        let txn = Txn::new().and_then([
            TxnOp::get(&*self.keys.own, Some(options)),
            TxnOp::get(&*self.keys.queue, Some(before)),
        ]);
        let reply = self.context.members.request(|client| {
            let txn = txn.clone();
            async move { client.kv_client().txn(txn).await }
        });
        let reply = reply.await?;
        let seen = revision(&reply)?;
        let mut ranges = ranges(reply.op_responses());
        let own = ranges.next().and_then(first_key);
        let predecessor = ranges.next().and_then(|range| self.predecessor(&range));
        let position = match own {
            Some(own) if own.create_revision() == created => {
                Position::of(created, predecessor, seen)
            }
            _ => Position::Absent,
        };
        Ok((position, seen))
    }

    /// The predecessor, of the last keys of the queue in descending order.
    pub(super) fn predecessor(&self, last: &GetResponse) -> Option<Predecessor> {
        let before = last.kvs().iter().find(|key| !self.is_own(key));
        before.map(|key| Predecessor {
            key: key.key().to_vec(),
            is_first: !last.more(),
        })
    }
}
