//! The calls that a recorder of the crate `metrics` gets. Each test is one thread, which has a recorder of its own.

use dlock_core::{
    ErrorKind, Locker,
    memory::{Fault, Memory, Operation},
};
use metrics::{Unit, set_default_local_recorder, with_local_recorder};

use crate::{
    common::{NAME, Shared, locker, millis, paused, secs, settle, until_unused},
    recorder::Recorded,
};

/// Every series of a locker; a dashboard reads these names.
const SERIES: &[&str] = &[
    "dlock_contended_total{backend=memory}",
    "dlock_grants_total{backend=memory}",
    "dlock_held{backend=memory}",
    "dlock_hold_seconds{backend=memory}",
    "dlock_lost_total{backend=memory,cause=closed}",
    "dlock_lost_total{backend=memory,cause=demoted}",
    "dlock_lost_total{backend=memory,cause=expired}",
    "dlock_lost_total{backend=memory,cause=moved}",
    "dlock_lost_total{backend=memory,cause=removed}",
    "dlock_lost_total{backend=memory,cause=session_ended}",
    "dlock_lost_total{backend=memory,cause=taken}",
    "dlock_margin_ratio{backend=memory}",
    "dlock_oldest_hold_seconds{backend=memory}",
    "dlock_releases_pending{backend=memory}",
    "dlock_renew_lag_seconds{backend=memory}",
    "dlock_renewals_total{backend=memory,result=confirmed}",
    "dlock_renewals_total{backend=memory,result=failed}",
    "dlock_renewals_total{backend=memory,result=lost}",
    "dlock_store_seconds{backend=memory,op=acquire}",
    "dlock_store_seconds{backend=memory,op=inspect}",
    "dlock_store_seconds{backend=memory,op=release}",
    "dlock_store_seconds{backend=memory,op=renew}",
    "dlock_unavailable_total{backend=memory}",
    "dlock_wait_seconds{backend=memory}",
    "dlock_waiting{backend=memory}",
];

const HELD: &str = "dlock_held{backend=memory}";
const PENDING: &str = "dlock_releases_pending{backend=memory}";
const MARGIN: &str = "dlock_margin_ratio{backend=memory}";

#[tokio::test(start_paused = true)]
async fn every_series_exists_from_the_start_with_help_and_unit() {
    let recorded = Recorded::default();
    let _locks = with_local_recorder(&recorded, || locker(Memory::new()));
    assert_eq!(recorded.series(), SERIES);
    for series in SERIES {
        let name = series.split('{').next().expect("a name");
        let (unit, help) = recorded.description(name).expect(name);
        let wanted = if name.ends_with("_seconds") {
            Unit::Seconds
        } else {
            Unit::Count
        };
        assert_eq!(unit, Some(wanted), "{name}");
        assert!(help.ends_with('.') && help.len() > 15, "{name}: {help}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_series_is_added_later() {
    let recorded = Recorded::default();
    let _local = set_default_local_recorder(&recorded);
    let (_, store, locks) = paused();
    let guard = locks.acquire(NAME).await.expect("free");
    tokio::time::sleep(secs(60)).await;
    assert!(locks.try_acquire(NAME).await.expect("no error").is_none());
    locks.inspect(NAME).await.expect("no error");
    store.revoke(NAME);
    drop((guard, locks));
    until_unused(&store).await;
    assert_eq!(recorded.series(), SERIES);
}

#[tokio::test(start_paused = true)]
async fn a_recorder_that_comes_later_gets_the_rest_of_a_hold() {
    let (_, store, locks) = paused();
    let guard = locks.acquire(NAME).await.expect("free");
    let recorded = Recorded::default();
    let _local = set_default_local_recorder(&recorded);
    store.revoke(NAME);
    assert!(!guard.is_held());
    assert!(recorded.value(HELD) < 0.0, "the grant was not recorded");
    let lost = recorded.value("dlock_lost_total{backend=memory,cause=removed}");
    assert!(lost > 0.5);
}

#[tokio::test(start_paused = true)]
async fn renewals_are_counted_by_result_with_the_margin_that_was_left() {
    let recorded = Recorded::default();
    let _local = set_default_local_recorder(&recorded);
    let (_, store, locks) = paused();
    let guard = locks.acquire(NAME).await.expect("free");
    tokio::time::sleep(secs(30)).await;
    let by_result = |result| {
        recorded.value(&format!(
            "dlock_renewals_total{{backend=memory,result={result}}}"
        ))
    };
    assert!(by_result("confirmed") >= 3.0);
    // A renewal is due between a sixth and a third of what is left.
    let usual = recorded.samples(MARGIN);
    assert!(
        usual.iter().all(|left| (0.6..=0.9).contains(left)),
        "{usual:?}"
    );
    assert!(by_result("failed") + by_result("lost") < 0.5);

    // 8 s of a ttl of 10 s without an answer.
    store.inject(Operation::Renew, Fault::LoseRequest);
    while guard.remaining() > secs(2) {
        tokio::time::sleep(millis(10)).await;
    }
    store.clear_faults();
    let before = recorded.samples(MARGIN).len();
    while recorded.samples(MARGIN).len() == before {
        tokio::time::sleep(millis(10)).await;
    }
    let after_faults = recorded.samples(MARGIN)[before];
    assert!((0.01..0.2).contains(&after_faults), "{after_faults}");
    assert!(by_result("failed") >= 1.0);

    store.expire(NAME);
    assert!(guard.renew().await.expect_err("it is gone").is_lost());
    assert!(by_result("lost") > 0.5);
    assert!(
        recorded
            .samples("dlock_store_seconds{backend=memory,op=renew}")
            .len()
            > 4
    );
}

#[tokio::test(start_paused = true)]
async fn losses_are_counted_by_cause() {
    let recorded = Recorded::default();
    let _local = set_default_local_recorder(&recorded);
    let (clock, store, locks) = paused();
    let lost = |cause| recorded.value(&format!("dlock_lost_total{{backend=memory,cause={cause}}}"));

    let removed = locks.acquire("removed").await.expect("free");
    store.revoke("removed");
    let expired = locks.acquire("expired").await.expect("free");
    clock.jump(secs(60));
    assert!(!expired.is_held() && !removed.is_held());
    let closed = locks.acquire("closed").await.expect("free");
    locks.shutdown(secs(5)).await.expect("shut down");
    assert!(!closed.is_held());

    for cause in ["removed", "expired", "closed"] {
        assert!((lost(cause) - 1.0).abs() < 0.1, "{cause}");
    }
    for cause in ["taken", "session_ended", "demoted"] {
        assert!(lost(cause) < 0.1, "{cause}");
    }
    assert!(recorded.value(HELD).abs() < 0.1);
}

#[tokio::test(start_paused = true)]
async fn the_oldest_hold_of_all_lockers_is_shown_until_it_ends() {
    let recorded = Recorded::default();
    let _local = set_default_local_recorder(&recorded);
    const OLDEST: &str = "dlock_oldest_hold_seconds{backend=alone}";
    // Tests in other threads hold locks of `memory`.
    let [old, young] = [(); 2].map(|()| locker(Shared::new(Memory::new()).named("alone")));
    let first = old.acquire(NAME).await.expect("free");
    tokio::time::sleep(secs(600)).await;
    let second = young.acquire(NAME).await.expect("free");
    tokio::time::sleep(secs(60)).await;
    let shown = recorded.value(OLDEST);
    assert!((655.0..=661.0).contains(&shown), "{shown}");

    first.release().await.expect("released");
    tokio::time::sleep(secs(2)).await;
    let shown = recorded.value(OLDEST);
    assert!((55.0..=63.0).contains(&shown), "{shown}");

    drop(second);
    tokio::time::sleep(secs(2)).await;
    assert!(recorded.value(OLDEST) < 0.1);
}

#[tokio::test(start_paused = true)]
async fn a_release_is_pending_until_it_is_confirmed() {
    let recorded = Recorded::default();
    let _local = set_default_local_recorder(&recorded);
    let (_, store, locks) = paused();
    let guard = locks.acquire(NAME).await.expect("free");
    store.inject(Operation::Release, Fault::LoseRequest);
    drop(guard);
    tokio::time::sleep(secs(2)).await;
    assert!(recorded.value(PENDING) > 0.9);
    store.clear_faults();
    until_unused(&store).await;
    settle().await;
    assert!(recorded.value(PENDING) < 0.1);

    // A release that is given up is not pending any more.
    let guard = locks.acquire(NAME).await.expect("free");
    store.inject(Operation::Release, Fault::LoseRequest);
    drop(guard);
    tokio::time::sleep(secs(60)).await;
    assert!(recorded.value(PENDING) < 0.1);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_an_acquire_is_recorded_unless_it_waited() {
    const ACQUIRE: &str = "dlock_store_seconds{backend=memory,op=acquire}";
    let recorded = Recorded::default();
    let _local = set_default_local_recorder(&recorded);
    let (_, store, locks) = paused();
    let guard = locks.acquire(NAME).await.expect("free");
    assert_eq!(recorded.samples(ACQUIRE).len(), 1, "it was free");
    assert!(locks.try_acquire(NAME).await.expect("no error").is_none());
    assert_eq!(recorded.samples(ACQUIRE).len(), 2, "a try does not wait");

    let other = Locker::builder(store.clone()).build().expect("locker");
    let waiting = tokio::spawn(async move { other.acquire(NAME).wait(secs(60)).await });
    tokio::time::sleep(secs(5)).await;
    guard.release().await.expect("released");
    drop(waiting.await.expect("no panic").expect("granted"));
    assert_eq!(recorded.samples(ACQUIRE).len(), 2, "it waited for a holder");

    store.inject(Operation::Acquire, Fault::Stall);
    let error = locks.acquire("x").wait(secs(7)).await.expect_err("silent");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    settle().await;
    assert_eq!(recorded.samples(ACQUIRE).len(), 2, "it was given up");
    assert!(recorded.value("dlock_unavailable_total{backend=memory}") > 0.9);
}
