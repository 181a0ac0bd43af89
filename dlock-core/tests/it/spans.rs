//! The spans `dlock.acquire` and `dlock.hold`, as a subscriber of `tracing` sees them.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::{Arc, Mutex},
};

use tracing::{
    Instrument as _, Subscriber,
    field::{Field, Visit},
    info_span,
    span::{Attributes, Id, Record},
    subscriber::{DefaultGuard, set_default},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
};

use crate::common::{paused, poll_times, secs};

/// A span that has ended.
#[derive(Clone, Debug, Default)]
struct Ended {
    name: &'static str,
    parent: Option<&'static str>,
    fields: BTreeMap<&'static str, String>,
}

impl Ended {
    fn outcome(&self) -> (&'static str, Option<&str>) {
        (self.name, self.fields.get("outcome").map(String::as_str))
    }
}

impl Visit for Ended {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }
}

/// The spans of this thread, in the order of their ends.
#[derive(Clone, Default)]
struct Spans {
    ended: Arc<Mutex<Vec<Ended>>>,
    open: Arc<Mutex<BTreeMap<u64, Ended>>>,
}

impl Spans {
    fn capture() -> (Self, DefaultGuard) {
        let spans = Self::default();
        let guard = set_default(tracing_subscriber::registry().with(spans.clone()));
        (spans, guard)
    }

    /// The spans that have ended since the last call.
    fn take(&self) -> Vec<Ended> {
        std::mem::take(&mut self.ended.lock().expect("spans"))
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).expect("a span");
        let mut begun = Ended {
            name: span.name(),
            parent: span.parent().map(|parent| parent.name()),
            ..Ended::default()
        };
        attributes.record(&mut begun);
        self.open
            .lock()
            .expect("spans")
            .insert(id.into_u64(), begun);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut open = self.open.lock().expect("spans");
        values.record(open.get_mut(&id.into_u64()).expect("open"));
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        let ended = self.open.lock().expect("spans").remove(&id.into_u64());
        self.ended.lock().expect("spans").push(ended.expect("open"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_acquire_ends_with_its_grant_and_a_hold_with_its_release() {
    let (spans, _guard) = Spans::capture();
    let (_, _, locks) = paused();
    let guard = async { locks.acquire("a").await.expect("free") };
    let guard = guard.instrument(info_span!("caller")).await;
    let ended = spans.take();
    assert_eq!(ended.len(), 1, "the hold and its caller go on: {ended:?}");
    assert_eq!(ended[0].outcome(), ("dlock.acquire", Some("granted")));
    let (token, attempt) = (guard.token().to_string(), guard.id().to_string());
    guard.release().await.expect("held");
    let ended = [ended, spans.take()].concat();
    let [acquire, hold, caller] = &ended[..] else {
        panic!("{ended:?}")
    };
    assert_eq!(hold.outcome(), ("dlock.hold", Some("released")));
    assert_eq!(caller.name, "caller");
    for span in [acquire, hold] {
        assert_eq!(span.parent, Some("caller"), "{span:?}");
        let field = |name| span.fields.get(name).map(String::as_str);
        assert_eq!(field("store"), Some("memory"));
        assert_eq!(field("name"), Some("a"));
        assert_eq!(field("token"), Some(token.as_str()));
        assert_eq!(field("attempt"), Some(attempt.as_str()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_loss_ends_the_hold_with_its_cause() {
    let (spans, _guard) = Spans::capture();
    let (_, store, locks) = paused();
    let guard = locks.acquire("a").await.expect("free");
    store.expire("a");
    let cause = guard.lost().await;
    let ended = spans.take();
    let hold = ended.last().expect("a span");
    assert_eq!(hold.outcome(), ("dlock.hold", Some(cause.as_str())));
    // A later end is no second one.
    drop(guard);
    assert_eq!(spans.take().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_acquire_without_a_grant_says_why() {
    let (spans, _guard) = Spans::capture();
    let (_, _, locks) = paused();
    let _held = locks.acquire("a").await.expect("free");
    spans.take();
    let taken = locks.acquire("a").wait(secs(1)).await;
    assert!(taken.is_err());
    let dropped = poll_times(async { locks.acquire("a").await }, 1).await;
    assert!(dropped.is_none());
    let outcomes = spans.take();
    let outcomes: Vec<_> = outcomes.iter().map(Ended::outcome).collect();
    let acquire = |outcome| ("dlock.acquire", Some(outcome));
    assert_eq!(outcomes, [acquire("contended"), acquire("cancelled")]);
}
