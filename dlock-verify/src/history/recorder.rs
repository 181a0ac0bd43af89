//! Writes down what happens to the locks of one client.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use dlock_core::{BootInstant, Clock, Guard, LockName, Mode, Result};

use super::event::{Event, EventKind};

/// Records the attempts of one client. Cheap to clone; clones record for the same client.
#[derive(Clone)]
pub struct Recorder(Arc<Inner>);

struct Inner {
    client: u32,
    clock: Clock,
    next_op: AtomicU64,
    sink: Box<dyn Fn(Event) + Send + Sync>,
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
        let sink = Box::new(sink);
        Self(Arc::new(Inner {
            client,
            clock,
            next_op: AtomicU64::new(0),
            sink,
        }))
    }

    /// Awaits `acquire`, a call for `name` in `mode` that was not polled yet, and records what comes of it.
    ///
    /// # Errors
    ///
    /// Those of `acquire`.
    ///
    /// # Cancel safety
    ///
    /// As of `acquire`; the attempt then stays open in the history.
    pub async fn acquire(
        &self,
        name: &LockName,
        mode: Mode,
        acquire: impl IntoFuture<Output = Result<Guard>>,
    ) -> Result<RecordedGuard> {
        let op = self.0.next_op.fetch_add(1, Ordering::Relaxed);
        self.record(EventKind::Requested {
            op,
            name: name.as_str().to_owned(),
            shared: mode == Mode::Shared,
        });
        match acquire.await {
            Ok(guard) => {
                let now = self.0.clock.now();
                let until = until(now, guard.remaining());
                let granted = EventKind::Granted {
                    op,
                    token: guard.token().get(),
                    until,
                };
                (self.0.sink)(Event::new(now.as_nanos(), self.0.client, granted));
                Ok(RecordedGuard {
                    guard,
                    recorder: self.clone(),
                    op,
                })
            }
            Err(error) => {
                self.record(EventKind::Refused { op });
                Err(error)
            }
        }
    }

    fn record(&self, kind: EventKind) {
        (self.0.sink)(Event::new(
            self.0.clock.now().as_nanos(),
            self.0.client,
            kind,
        ));
    }
}

/// A guard whose end is recorded. A holder that only drops it stays on record as long as it said
/// that it would hold, so [`release`](Self::release) or [`report`](Self::report) it.
#[derive(Debug)]
pub struct RecordedGuard {
    guard: Guard,
    recorder: Recorder,
    op: u64,
}

impl RecordedGuard {
    /// The guard.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Reads from the guard whether it is held and until when, and records both; returns whether it is
    /// held.
    #[must_use]
    pub fn report(&self) -> bool {
        let now = self.recorder.0.clock.now();
        let (op, until) = (self.op, until(now, self.guard.remaining()));
        let held = self.guard.is_held();
        let kind = if held {
            EventKind::Reported { op, until }
        } else {
            EventKind::Lost { op }
        };
        (self.recorder.0.sink)(Event::new(now.as_nanos(), self.recorder.0.client, kind));
        held
    }

    /// Records that the guard was found lost, and drops it.
    pub fn lost(self) {
        self.recorder.record(EventKind::Lost { op: self.op });
    }

    /// Records the end and drops the guard, which releases it.
    pub fn abandon(self) {
        self.recorder.record(EventKind::Releasing { op: self.op });
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
        self.recorder.record(EventKind::Releasing { op: self.op });
        self.guard.release().await
    }
}

/// The end of the hold, by a clock that was read before `remaining` was: never too late.
fn until(now: BootInstant, remaining: Duration) -> u64 {
    now.after(remaining).as_nanos()
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("client", &self.0.client)
            .finish_non_exhaustive()
    }
}
