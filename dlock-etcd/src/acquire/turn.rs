//! A key's wait for its turn: behind one predecessor, which it watches.

use std::{sync::Arc, time::Duration};

use dlock_core::{Error, Result, backend::AcquireRequest, toolkit::Backoff};
use tokio::sync::Notify;

use crate::{
    queue::{
        key::QueueKey,
        position::{Position, Predecessor},
    },
    shared::Shared,
    watch::{Watched, pair::Pair, registry::Target},
};

/// A waiter reads its position after this time without an event: old servers lose some.
const READ_EVERY: Duration = Duration::from_secs(10);

/// How the wait of one key ends.
pub(super) enum EndOfTurn {
    /// The key came first; it was created in this revision.
    First(i64),
    /// The attempt was cancelled.
    Cancelled,
    /// The key or its lease is gone: the attempt needs a new key.
    KeyLost,
    /// The acquire was not polled, and its key was removed.
    Unpolled,
    /// The store refuses.
    Refused(Error),
}

/// The wait of one key.
pub(super) struct Turn<'a> {
    shared: &'a Shared,
    request: &'a AcquireRequest,
    key: &'a Arc<QueueKey>,
    wake: Arc<Notify>,
    /// The revision in which the key was created.
    created: Option<i64>,
    /// The watch of the key itself, which may be deleted.
    own_watch: Option<Watched>,
    /// The key before it, or the holder's if there is no queue, and its watch.
    predecessor: Option<(Vec<u8>, Watched)>,
    /// The watch of both, if that key is the first.
    pair: Option<(Arc<Pair>, Watched)>,
}

impl<'a> Turn<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        request: &'a AcquireRequest,
        key: &'a Arc<QueueKey>,
    ) -> Self {
        Self {
            shared,
            request,
            key,
            wake: Arc::new(Notify::new()),
            created: None,
            own_watch: None,
            predecessor: None,
            pair: None,
        }
    }

    /// Waits until the key comes first. `tried` is the result of the try that enqueued it. Requests run to their
    /// end; only the sleeps between them are cut short.
    pub(super) async fn run(&mut self, mut tried: Result<Position>) -> EndOfTurn {
        let mut backoff = Backoff::new();
        loop {
            let woken = match tried {
                Ok(Position::First(created)) => return EndOfTurn::First(created),
                Ok(Position::Behind {
                    created,
                    predecessor,
                    seen,
                }) => {
                    self.request.attempt.report_contended();
                    backoff.reset();
                    self.watch(created, predecessor, seen);
                    self.sleep(READ_EVERY).await
                }
                Ok(Position::Taken { seen }) => {
                    self.request.attempt.report_contended();
                    backoff.reset();
                    self.watch_predecessor(self.key.keys.own.clone().into_bytes(), seen);
                    self.sleep(READ_EVERY).await
                }
                Ok(Position::Absent | Position::LeaseGone) => return EndOfTurn::KeyLost,
                Err(error) if error.is_retryable() && !self.shared.members.is_closed() => {
                    tracing::debug!(%error, "waiting goes on");
                    self.request.attempt.report_unavailable(&error);
                    self.sleep(backoff.next_pause()).await
                }
                Err(error) => return EndOfTurn::Refused(error),
            };
            if self.request.attempt.is_cancelled() {
                return EndOfTurn::Cancelled;
            }
            if self.key.is_claimed() {
                return EndOfTurn::Unpolled;
            }
            tried = match self.created {
                Some(created) if self.is_first() => Ok(Position::First(created)),
                None => self.key.enqueue().await,
                Some(created) if woken => self.key.read_position_of_member(created).await,
                Some(created) => self.key.read_position(created).await,
            };
        }
    }

    /// Watches the key and its predecessor for events after revision `seen`. An existing watch is kept: on a
    /// busy server each new watch causes another read.
    fn watch(&mut self, created: i64, predecessor: Predecessor, seen: i64) {
        self.created = Some(created);
        if predecessor.is_first {
            return self.watch_pair(predecessor.key, seen);
        }
        if self.own_watch.is_none() {
            let own = &*self.key.keys.own;
            let target = Target::Waiter(self.wake.clone());
            self.own_watch = Some(self.shared.watches.watch(own, created + 1, target));
        }
        self.watch_predecessor(predecessor.key, seen);
    }

    fn watch_pair(&mut self, first: Vec<u8>, seen: i64) {
        match &self.pair {
            Some((pair, watched)) if pair.has_first(&first) => watched.keys_seen(seen),
            _ => {
                let own = self.key.keys.own.clone().into_bytes();
                let pair = Arc::new(Pair::new(own.clone(), first, self.wake.clone()));
                let target = Target::Pair(pair.clone());
                let watched = self.shared.watches.watch(own, seen + 1, target);
                self.pair = Some((pair, watched));
                (self.own_watch, self.predecessor) = (None, None);
            }
        }
    }

    /// Whether the watch shows that the key comes first.
    fn is_first(&self) -> bool {
        self.pair.as_ref().is_some_and(|(pair, _)| pair.is_first())
    }

    fn watch_predecessor(&mut self, predecessor: Vec<u8>, seen: i64) {
        let is_watched = |(key, _): &(Vec<u8>, Watched)| *key == predecessor;
        if !self.predecessor.as_ref().is_some_and(is_watched) {
            let target = Target::Waiter(self.wake.clone());
            let watched = self.shared.watches.watch(&*predecessor, seen + 1, target);
            self.predecessor = Some((predecessor, watched));
        }
    }

    /// Sleeps for `max`, or until a watch wakes it; true if a watch did.
    async fn sleep(&self, max: Duration) -> bool {
        tokio::select! {
            () = self.wake.notified() => true,
            () = tokio::time::sleep(max) => false,
            () = self.request.attempt.cancelled() => false,
        }
    }
}
