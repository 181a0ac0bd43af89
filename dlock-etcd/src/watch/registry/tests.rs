use std::{pin::pin, task::Context};

use super::*;
use crate::{config::EtcdConfig, watch::pair::Pair};

/// The revision in which the waiter has seen its keys.
const SEEN: i64 = 10;

struct Waiter {
    registry: Registry,
    pair: Arc<Pair>,
    id: i64,
}

impl Waiter {
    fn new() -> Self {
        let members = Members::new(EtcdConfig::new(["h"])).expect("config");
        let registry = Registry::new(Arc::new(members));
        let pair = Pair::new("own".into(), "first".into(), Arc::default());
        let pair = Arc::new(pair);
        let target = Target::Pair(pair.clone());
        let id = registry.add("own".into(), SEEN + 1, target).id;
        Self { registry, pair, id }
    }

    /// A member that is at `revision` creates the watch.
    fn begin(&self, revision: i64) {
        let next = self.registry.next();
        assert!(matches!(next, NextAction::Create(..)), "it is requested");
        assert!(self.registry.watch_created(self.id, revision));
    }

    /// The stream is replaced by one to a member that is at `revision`.
    fn begin_again(&self, revision: i64) {
        self.registry.end_stream();
        self.registry.begin_stream();
        self.begin(revision);
    }

    fn deleted(&self, key: &str, revision: i64) {
        let deletions = [(key.as_bytes(), revision)];
        self.registry.deletions_of(self.id, &deletions);
    }

    fn is_woken(&self) -> bool {
        let mut context = Context::from_waker(std::task::Waker::noop());
        pin!(self.pair.wake.notified())
            .poll(&mut context)
            .is_ready()
    }
}

#[test]
fn a_watch_that_missed_nothing_needs_no_read() {
    let waiter = Waiter::new();
    waiter.begin(SEEN);
    assert!(!waiter.is_woken());
    waiter.deleted("other", 11);
    assert!(!waiter.pair.is_first());
    waiter.deleted("first", 12);
    assert!(waiter.pair.is_first());
    waiter.deleted("own", 13);
    assert!(!waiter.pair.is_first());
}

#[test]
fn a_watch_that_began_late_needs_a_read() {
    let waiter = Waiter::new();
    waiter.begin(SEEN + 1);
    assert!(waiter.is_woken(), "it reads");
    waiter.deleted("first", 12);
    assert!(!waiter.pair.is_first(), "our own key may be gone since 11");
    let waiter = Waiter::new();
    waiter.begin(SEEN + 1);
    waiter.registry.keys_seen(waiter.id, SEEN + 1);
    waiter.deleted("first", 12);
    assert!(waiter.pair.is_first());
}

#[test]
fn the_reply_to_another_watch_needs_a_read() {
    let waiter = Waiter::new();
    waiter.begin(SEEN);
    waiter.registry.deletions_of(0, &[(b"first", 12)]);
    assert!(!waiter.pair.is_first());
}

#[test]
fn a_stream_that_breaks_needs_a_read() {
    let waiter = Waiter::new();
    waiter.begin(SEEN);
    waiter.begin_again(20);
    assert!(waiter.is_woken());
    waiter.deleted("first", 21);
    assert!(!waiter.pair.is_first());
    // Not even a request that has no reply yet.
    let waiter = Waiter::new();
    waiter.begin(SEEN);
    waiter.registry.end_stream();
    waiter.deleted("first", 21);
    assert!(!waiter.pair.is_first());
}

#[test]
fn a_member_that_lags_reports_earlier_deletions() {
    let waiter = Waiter::new();
    waiter.begin(SEEN);
    waiter.begin_again(5);
    waiter.deleted("own", 8);
    waiter.deleted("first", 9);
    assert!(!waiter.pair.is_first(), "the key of an attempt before");
    waiter.deleted("first", 12);
    assert!(waiter.pair.is_first());
}

#[test]
fn what_is_compacted_was_not_seen() {
    let waiter = Waiter::new();
    waiter.begin(SEEN);
    waiter.registry.compacted(30);
    waiter.begin_again(25);
    waiter.deleted("first", 31);
    assert!(!waiter.pair.is_first());
}
