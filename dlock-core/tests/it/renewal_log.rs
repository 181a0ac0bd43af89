//! The lines about renewals: one when they begin to fail, and one when they succeed again.

use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
};

use dlock_core::memory::{Fault, Operation};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::{DefaultGuard, set_default},
};

use crate::common::{paused, secs};

/// The lines at the level INFO of this thread.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn capture() -> (Self, DefaultGuard) {
        let lines = Self::default();
        let guard = set_default(lines.clone());
        (lines, guard)
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("lines"))
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::INFO
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        self.0.lock().expect("lines").push(line.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).expect("a string");
    }
}

#[tokio::test(start_paused = true)]
async fn failing_renewals_are_reported_once_and_their_recovery_too() {
    let (lines, _guard) = Lines::capture();
    let (_, store, locks) = paused();
    let one = locks.acquire("one").await.expect("free");
    let two = locks.acquire("two").await.expect("free");
    tokio::time::sleep(secs(20)).await;
    assert_eq!(lines.take(), Vec::<String>::new());

    store.inject(Operation::Renew, Fault::LoseRequest);
    tokio::time::sleep(secs(5)).await;
    let said = lines.take();
    assert_eq!(said.len(), 1, "both locks, several tries: {said:?}");
    assert!(said[0].contains("renewals began to fail"), "{said:?}");
    assert!(
        said[0].contains("error=") && said[0].contains("left="),
        "{said:?}"
    );

    store.clear_faults();
    tokio::time::sleep(secs(3)).await;
    let said = lines.take();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("renewals succeed again"), "{said:?}");
    assert!(one.is_held() && two.is_held());
}

#[tokio::test(start_paused = true)]
async fn locks_that_end_while_renewals_fail_do_not_recover() {
    let (lines, _guard) = Lines::capture();
    let (_, store, locks) = paused();
    let lost = locks.acquire("lost").await.expect("free");
    let released = locks.acquire("released").await.expect("free");
    store.inject(Operation::Renew, Fault::LoseRequest);
    tokio::time::sleep(secs(5)).await;
    assert_eq!(lines.take().len(), 1);
    released.release().await.expect("held");
    lost.lost().await;
    store.clear_faults();
    tokio::time::sleep(secs(5)).await;
    assert_eq!(lines.take(), Vec::<String>::new());

    // The next failure is a new one.
    let next = locks.acquire("next").await.expect("free");
    store.inject(Operation::Renew, Fault::LoseRequest);
    tokio::time::sleep(secs(5)).await;
    assert_eq!(lines.take().len(), 1);
    drop(next);
}
