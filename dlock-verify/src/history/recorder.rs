//! Writes down what happens to the locks of one client.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use dlock_core::{Clock, Guard, LockName, Mode, Result, backend::Wait};

use super::{
    event::{Event, EventKind, Owner},
    guard::RecordedGuard,
    outcome::{RefusalEffect, RefusalKind},
    sink::{Sink, until},
};

/// Records the attempts of one client. Cheap to clone; clones record for the same client.
#[derive(Clone, Debug)]
pub struct Recorder {
    sink: Sink,
    next_op: Arc<AtomicU64>,
}

impl Recorder {
    /// A recorder for the client with this number, whose events go to `sink`.
    pub fn new(client: u32, sink: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self::with_clock(client, Clock::boottime(), sink)
    }

    /// As [`new`](Self::new), on the clock of the locker if that is another one.
    pub fn with_clock(
        client: u32,
        clock: Clock,
        sink: impl Fn(Event) + Send + Sync + 'static,
    ) -> Self {
        Self {
            sink: Sink::new(client, clock, sink),
            next_op: Arc::default(),
        }
    }

    /// Awaits `acquire`, a call for `name` in `mode` that was not polled yet, and records what comes of it.
    ///
    /// # Errors
    ///
    /// Those of `acquire`.
    ///
    /// # Cancel safety
    ///
    /// As of `acquire`; that it was dropped is recorded.
    pub async fn acquire(
        &self,
        name: &LockName,
        mode: Mode,
        acquire: impl IntoFuture<Output = Result<Guard>>,
    ) -> Result<RecordedGuard> {
        self.record_acquire(name, mode, true, |_| acquire).await
    }

    /// As [`acquire`](Self::acquire), for an acquire that does not wait if the lock is taken.
    ///
    /// # Errors
    ///
    /// Those of `acquire`.
    ///
    /// # Cancel safety
    ///
    /// As of `acquire`; that it was dropped is recorded.
    pub async fn try_acquire(
        &self,
        name: &LockName,
        mode: Mode,
        acquire: impl IntoFuture<Output = Result<Guard>>,
    ) -> Result<RecordedGuard> {
        self.record_acquire(name, mode, false, |_| acquire).await
    }

    /// As [`acquire`](Self::acquire), with a note for the acquire. A listing of the store shows it, and
    /// [`Owner::from_note`] reads it.
    ///
    /// # Errors
    ///
    /// Those of the acquire.
    ///
    /// # Cancel safety
    ///
    /// As of the acquire; that it was dropped is recorded.
    pub async fn acquire_noted<A>(
        &self,
        name: &LockName,
        mode: Mode,
        wait: Wait,
        acquire: impl FnOnce(String) -> A,
    ) -> Result<RecordedGuard>
    where
        A: IntoFuture<Output = Result<Guard>>,
    {
        let waits = wait == Wait::UntilCancelled;
        self.record_acquire(name, mode, waits, acquire).await
    }

    async fn record_acquire<A>(
        &self,
        name: &LockName,
        mode: Mode,
        waits: bool,
        acquire: impl FnOnce(String) -> A,
    ) -> Result<RecordedGuard>
    where
        A: IntoFuture<Output = Result<Guard>>,
    {
        let (sink, client) = (&self.sink, self.sink.client());
        let op = self.next_op.fetch_add(1, Ordering::Relaxed);
        let acquire = acquire(Owner { client, op }.note());
        let name = name.as_str().into();
        let shared = mode == Mode::Shared;
        sink.record(EventKind::Requested {
            op,
            name,
            shared,
            waits,
        });
        let dropped = Dropped { sink, op };
        let result = acquire.await;
        mem::forget(dropped);
        let now = sink.now();
        match result {
            Ok(guard) => {
                let token = guard.token().get();
                let until = until(now, guard.remaining());
                sink.record_at(now, EventKind::Granted { op, token, until });
                Ok(RecordedGuard::new(guard, sink.clone(), op))
            }
            Err(error) => {
                let (kind, effect) = (RefusalKind::from(&error), RefusalEffect::from(&error));
                sink.record_at(now, EventKind::Refused { op, kind, effect });
                Err(error)
            }
        }
    }

    /// Records an event of the client at this moment.
    pub fn record(&self, kind: EventKind) {
        self.sink.record(kind);
    }
}

/// Records that an acquire was dropped before it returned.
struct Dropped<'a> {
    sink: &'a Sink,
    op: u64,
}

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.sink.record(EventKind::Cancelled { op: self.op });
    }
}
