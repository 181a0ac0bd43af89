use std::{sync::atomic::AtomicUsize, time::Duration};

use super::*;
use crate::base::error::ErrorKind;

const SHORT: Duration = Duration::from_millis(10);

/// A connection that counts how often it was discarded.
#[derive(Clone, Debug, Default)]
struct Fake {
    has_ended: Arc<AtomicBool>,
    discarded: Arc<AtomicUsize>,
}

impl Fake {
    fn discarded(&self) -> usize {
        self.discarded.load(Ordering::SeqCst)
    }
}

fn slot() -> ReconnectSlot<Fake> {
    ReconnectSlot::new(ReconnectHooks {
        has_ended: |fake| fake.has_ended.load(Ordering::SeqCst),
        discard: |fake| {
            fake.discarded.fetch_add(1, Ordering::SeqCst);
        },
    })
}

fn down() -> Error {
    Error::new(ErrorKind::Unavailable, "down")
}

async fn make(fake: Fake) -> Result<Fake> {
    tokio::time::sleep(SHORT).await;
    Ok(fake)
}

#[tokio::test(start_paused = true)]
async fn one_task_at_a_time_connects_and_all_get_its_connection() {
    let (slot, made) = (ReconnectSlot::default(), AtomicUsize::new(0));
    let made = Arc::new(made);
    let connect = || {
        let made = made.clone();
        async move {
            tokio::time::sleep(SHORT).await;
            Ok(made.fetch_add(1, Ordering::SeqCst))
        }
    };
    let (first, second) = tokio::join!(slot.get(connect), slot.get(connect));
    assert_eq!(*first.expect("connected"), 0);
    assert_eq!(*second.expect("the same connection"), 0);
    assert_eq!(made.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn callers_that_wait_share_a_failure_and_a_later_one_connects() {
    let slot = slot();
    let fails = || async {
        tokio::time::sleep(SHORT).await;
        Err(down())
    };
    let (first, waited) = tokio::join!(slot.get(fails), slot.get(|| make(Fake::default())));
    assert!(first.is_err());
    assert_eq!(waited.expect_err("shared").to_string(), "down");
    tokio::time::sleep(SHORT).await;
    slot.get(|| make(Fake::default())).await.expect("connected");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_caller_leaves_its_connection_to_the_next_one() {
    let (slot, fake) = (slot(), Fake::default());
    let dropped = slot.get(|| make(fake.clone()));
    tokio::time::timeout(SHORT / 2, dropped)
        .await
        .expect_err("it takes longer");
    let never = || async { Err(down()) };
    let connected = slot.get(never).await.expect("connected before");
    assert!(Arc::ptr_eq(&connected.discarded, &fake.discarded));
    assert_eq!(fake.discarded(), 0);
}

#[tokio::test]
async fn only_the_present_generation_is_abandoned() {
    let slot = slot();
    let old = slot.install(Fake::default()).expect("open");
    assert!(slot.abandon(old.generation()).is_some());
    assert_eq!(slot.generation(), None);
    let new = slot.install(Fake::default()).expect("open");
    assert!(slot.abandon(old.generation()).is_none());
    assert_eq!(slot.generation(), Some(new.generation()));
    assert_eq!((old.discarded(), new.discarded()), (0, 0));
}

#[tokio::test]
async fn a_connection_that_has_ended_counts_as_absent() {
    let slot = slot();
    let ended = slot.install(Fake::default()).expect("open");
    ended.has_ended.store(true, Ordering::SeqCst);
    assert!(slot.current().expect("open").is_none());
    assert_eq!(slot.generation(), None);
    let next = slot.get(|| make(Fake::default())).await;
    assert!(next.expect("connected").generation() > ended.generation());
    assert_eq!(ended.discarded(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_made_while_the_slot_closes_is_discarded() {
    let (slot, fake) = (slot(), Fake::default());
    let closing = async {
        tokio::time::sleep(SHORT / 2).await;
        assert!(slot.close().is_none());
    };
    let (made, ()) = tokio::join!(slot.get(|| make(fake.clone())), closing);
    assert_eq!(made.expect_err("closed").kind(), Error::closed().kind());
    assert_eq!(fake.discarded(), 1);
    assert!(slot.is_closed() && slot.current().is_err());
}

#[tokio::test]
async fn a_closed_slot_returns_its_connection_and_a_dropped_one_discards_it() {
    let (closed, dropped) = (Fake::default(), Fake::default());
    let one = slot();
    one.install(closed.clone()).expect("open");
    assert!(one.close().is_some());
    drop(one);
    assert_eq!(closed.discarded(), 0);
    let one = slot();
    one.install(dropped.clone()).expect("open");
    drop(one);
    assert_eq!(dropped.discarded(), 1);
}

#[tokio::test]
async fn only_before_the_first_connection_a_failure_hints_at_the_url() {
    let slot = slot();
    let fails = || async { Err(down().with_url_hint("use zks://")) };
    let first = slot.get(fails).await.expect_err("down").to_string();
    assert_eq!(first, "down; use zks://");
    let connected = slot.get(|| make(Fake::default())).await.expect("connected");
    slot.abandon(connected.generation());
    let later = slot.get(fails).await.expect_err("down").to_string();
    assert_eq!(later, "down");
}
