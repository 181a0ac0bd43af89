//! A guard whose end is recorded.

use std::{pin::pin, time::Duration};

use dlock_core::{Guard, Result};
use tokio::time::sleep;

use super::{
    event::EventKind,
    sink::{Sink, until},
};

/// A guard whose end is recorded. A holder that only drops it stays on record as long as it said
/// that it would hold, so [`release`](Self::release) or [`report`](Self::report) it.
#[derive(Debug)]
pub struct RecordedGuard {
    guard: Guard,
    sink: Sink,
    op: u64,
}

impl RecordedGuard {
    pub(super) fn new(guard: Guard, sink: Sink, op: u64) -> Self {
        Self { guard, sink, op }
    }

    /// The guard.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// The number of the attempt among those of its client.
    #[must_use]
    pub fn op(&self) -> u64 {
        self.op
    }

    /// Runs `work` while the lock is held, and records the deadline every so often and the loss when the guard
    /// reports it. So the checker finds a loss that is reported late. `None` when the lock was lost.
    ///
    /// Release the guard soon after it: until then the checker expects the loss.
    ///
    /// # Cancel safety
    ///
    /// Drop it only together with the guard. Dropping it drops `work`.
    pub async fn while_watched<T>(
        &self,
        every: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let op = self.op;
        let nanos = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        self.sink.record(EventKind::Watched { op, every: nanos });
        let (mut lost, mut work) = (pin!(self.guard.lost()), pin!(work));
        loop {
            tokio::select! {
                biased;
                _ = &mut lost => {
                    self.sink.record(EventKind::Lost { op });
                    return None;
                }
                value = &mut work => return Some(value),
                () = sleep(every) => {
                    let _ = self.report();
                }
            }
        }
    }

    /// Goes on to record the deadline every so often, and the loss when the guard reports it, while `work` runs to its
    /// end: of a holder that does not check its guard.
    ///
    /// # Cancel safety
    ///
    /// As of [`while_watched`](Self::while_watched).
    pub async fn unheeded<T>(&self, every: Duration, work: impl Future<Output = T>) -> T {
        let (mut lost, mut work) = (pin!(self.guard.lost()), pin!(work));
        loop {
            tokio::select! {
                biased;
                _ = &mut lost => {
                    self.sink.record(EventKind::Lost { op: self.op });
                    return work.await;
                }
                value = &mut work => return value,
                () = sleep(every) => {
                    let _ = self.report();
                }
            }
        }
    }

    /// Reads from the guard whether it is held and until when, and records both; returns whether it is
    /// held.
    #[must_use]
    pub fn report(&self) -> bool {
        let now = self.sink.now();
        let (op, until) = (self.op, until(now, self.guard.remaining()));
        let held = self.guard.is_held();
        let kind = if held {
            EventKind::Reported { op, until }
        } else {
            EventKind::Lost { op }
        };
        self.sink.record_at(now, kind);
        held
    }

    /// Records that the guard was found lost, and drops it.
    pub fn lost(self) {
        self.sink.record(EventKind::Lost { op: self.op });
    }

    /// Records the end and drops the guard, which releases it.
    pub fn abandon(self) {
        self.sink.record(EventKind::Releasing { op: self.op });
    }

    /// Records the end and releases the guard.
    ///
    /// # Errors
    ///
    /// Those of [`Guard::release`].
    ///
    /// # Cancel safety
    ///
    /// As of [`Guard::release`].
    pub async fn release(self) -> Result<()> {
        let (sink, op) = (self.sink, self.op);
        sink.record(EventKind::Releasing { op });
        self.guard.release().await?;
        sink.record(EventKind::Released { op });
        Ok(())
    }
}
