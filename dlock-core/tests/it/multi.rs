//! `acquire_all`: several locks or none.

use dlock_core::{ErrorKind, GuardSet, LostCause, memory::Memory};

use crate::common::{NAME, locker, millis, paused, poll_times, secs, settle, until_unused};

#[tokio::test]
async fn all_are_held_sorted_and_once() {
    let store = Memory::new();
    let locks = locker(store.clone());
    let set = locks.acquire_all(["b", "a", "b"]).await.expect("free");
    let names: Vec<_> = set.iter().map(|guard| guard.name().as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(set.is_held() && set.get("a").is_some() && set.get("c").is_none());
    set.release().await.expect("held");
    assert!(store.names().is_empty());
}

#[tokio::test]
async fn a_set_that_is_taken_apart_is_released_one_by_one() {
    let store = Memory::new();
    let locks = locker(store.clone());
    let set = locks.acquire_all(["a", "b"]).await.expect("free");
    assert!((&set).into_iter().all(|guard| guard.is_held()));
    let mut guards = set.into_iter();
    let (a, b) = (guards.next().expect("a"), guards.next().expect("b"));
    a.release().await.expect("held");
    assert!(b.is_held() && guards.next().is_none());
    let names: Vec<_> = store.names().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["b"]);
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_be_had_frees_the_others_within_one_wait() {
    let (clock, store, locks) = paused();
    let _a = locks.acquire("a").no_renewal().await.expect("free");
    let c = locks.acquire("c").await.expect("free");
    let start = clock.now();
    // "a" ends after 10 s; what is left of the wait for "c" is not 12 s again.
    let error = locks
        .acquire_all(["c", "b", "a"])
        .wait(secs(12))
        .await
        .expect_err("c is held");
    assert_eq!(error.kind(), ErrorKind::Contended);
    assert_eq!(error.name().map(|name| name.as_str()), Some("c"));
    assert!(clock.now().since(start) < millis(12_003));
    drop(c);
    until_unused(&store).await;
}

#[tokio::test(start_paused = true)]
async fn one_lost_while_the_next_is_awaited_is_an_error() {
    let (_, store, locks) = paused();
    let b = locks.acquire("b").await.expect("free");
    let all = tokio::spawn({
        let locks = locks.clone();
        async move { locks.acquire_all(["a", "b"]).await.map(drop) }
    });
    settle().await;
    store.revoke("a");
    drop(b);
    let error = all.await.expect("no panic").expect_err("a was lost");
    assert_eq!(error.kind(), ErrorKind::Lost);
    until_unused(&store).await;
}

#[tokio::test(start_paused = true)]
async fn a_loss_ends_the_wait_for_the_others() {
    let (_, store, locks) = paused();
    let _b = locks.acquire("b").await.expect("free");
    let all = tokio::spawn({
        let locks = locks.clone();
        async move { locks.acquire_all(["a", "b"]).wait_forever().await.map(drop) }
    });
    settle().await;
    store.revoke("a");
    let error = all.await.expect("no panic").expect_err("a was lost");
    assert_eq!(error.name().map(|name| name.as_str()), Some("a"));
}

#[tokio::test]
async fn the_first_loss_is_reported_with_its_name() {
    let store = Memory::new();
    let locks = locker(store.clone());
    let set = locks.acquire_all([NAME, "z"]).await.expect("free");
    store.revoke("z");
    let (name, cause) = set.lost().await;
    assert_eq!((name.as_str(), cause), ("z", LostCause::Removed));
    assert!(!set.is_held());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opposite_orders_do_not_block_each_other() {
    let locks = locker(Memory::new());
    let tasks = [["a", "b"], ["b", "a"]].map(|names| {
        let locks = locks.clone();
        tokio::spawn(async move {
            for _ in 0..500 {
                let set = locks.acquire_all(names).await.expect("no circle");
                set.release().await.expect("held");
            }
        })
    });
    for task in tasks {
        task.await.expect("no panic");
    }
}

/// The names of a set, sorted.
fn names(set: &GuardSet) -> Vec<&str> {
    set.iter().map(|guard| guard.name().as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn as_many_as_are_needed_are_enough() {
    let (_, store, locks) = paused();
    let b = locks.acquire("b").await.expect("free");
    let set = locks.acquire_all(["c", "a", "b"]).need(2).await;
    let set = set.expect("two are free");
    assert_eq!(names(&set), ["a", "c"]);
    // One is missing already, so the next loss is the end of the set.
    store.revoke("c");
    assert_eq!(set.lost().await.0.as_str(), "c");
    assert!(!set.is_held());
    assert!(set.release().await.is_err());
    drop(b);
    until_unused(&store).await;
}

#[tokio::test(start_paused = true)]
async fn a_loss_that_leaves_enough_is_none() {
    let (_, store, locks) = paused();
    let set = locks.acquire_all(["a", "b", "c"]).need(2).await;
    let set = set.expect("all are free");
    assert_eq!(names(&set), ["a", "b", "c"]);
    store.revoke("a");
    assert!(set.is_held());
    assert!(poll_times(set.lost(), 3).await.is_none());
    store.revoke("c");
    assert_eq!(set.lost().await.0.as_str(), "c");
    assert!(!set.is_held());
    drop(set);
    let set = locks.acquire_all(["a", "b", "c"]).need(2).await;
    let set = set.expect("all are free");
    store.revoke("b");
    set.release().await.expect("two were held");
    until_unused(&store).await;
}

#[tokio::test(start_paused = true)]
async fn those_that_are_needed_are_waited_for_in_order() {
    let (_, store, locks) = paused();
    let one = locks.acquire_all(["a", "b", "c"]).need(2).await;
    let one = one.expect("all are free");
    let waiting = tokio::spawn({
        let locks = locks.clone();
        async move { locks.acquire_all(["a", "b", "c"]).need(2).await }
    });
    settle().await;
    assert!(!waiting.is_finished(), "both need more than half");
    one.release().await.expect("held");
    let other = waiting.await.expect("no panic").expect("free");
    // The first was passed over.
    assert_eq!(names(&other), ["b", "c"]);
    drop(other);
    until_unused(&store).await;
}

#[tokio::test(start_paused = true)]
async fn a_loss_during_the_wait_counts_as_missing() {
    let (_, store, locks) = paused();
    let others = locks.acquire_all(["b", "d"]).await.expect("free");
    let waiting = tokio::spawn({
        let locks = locks.clone();
        async move { locks.acquire_all(["a", "b", "d"]).need(2).await }
    });
    settle().await;
    // The second is missing already.
    store.revoke("a");
    let error = waiting.await.expect("no panic").expect_err("a was lost");
    assert!(error.is_lost());
    assert_eq!(error.name().map(|name| name.as_str()), Some("a"));
    drop(others);
    until_unused(&store).await;
}

#[tokio::test]
async fn what_is_needed_is_checked_first() {
    let store = Memory::new();
    let locks = locker(store.clone());
    for need in [0, 3] {
        let refused = locks.acquire_all(["a", "b", "a"]).need(need).await;
        let error = refused.expect_err("out of range");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let text = format!("need {need} is out of range (1 to 2)");
        assert!(error.to_string().contains(&text), "{error}");
    }
    assert!(store.names().is_empty());
}
