//! Where the events of one client go, with the time of its clock.

use std::{fmt, sync::Arc, time::Duration};

use dlock_core::{BootInstant, Clock};

use super::event::{Event, EventKind};

/// Where the events of one client go. Cheap to clone; clones are the same sink.
#[derive(Clone)]
pub(super) struct Sink(Arc<Inner>);

struct Inner {
    client: u32,
    clock: Clock,
    sink: Box<dyn Fn(Event) + Send + Sync>,
}

impl Sink {
    pub(super) fn new(
        client: u32,
        clock: Clock,
        sink: impl Fn(Event) + Send + Sync + 'static,
    ) -> Self {
        let sink = Box::new(sink);
        Self(Arc::new(Inner {
            client,
            clock,
            sink,
        }))
    }

    pub(super) fn client(&self) -> u32 {
        self.0.client
    }

    pub(super) fn now(&self) -> BootInstant {
        self.0.clock.now()
    }

    /// Records an event of this moment.
    pub(super) fn record(&self, kind: EventKind) {
        self.record_at(self.now(), kind);
    }

    pub(super) fn record_at(&self, now: BootInstant, kind: EventKind) {
        (self.0.sink)(Event::new(now.as_nanos(), self.0.client, kind));
    }
}

/// The end of a hold, by a clock that was read before `remaining` was: never too late.
pub(super) fn until(now: BootInstant, remaining: Duration) -> u64 {
    now.after(remaining).as_nanos()
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink")
            .field("client", &self.0.client)
            .finish_non_exhaustive()
    }
}
