//! K6: how waiting ends, and in which order.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use dlock_core::{
    ErrorKind, LockName, Locker,
    memory::{Fault, Memory, Operation},
};

use crate::common::{CountingPolls, NAME, locker, millis, paused, secs, settle, until_unused};

#[tokio::test(start_paused = true)]
async fn a_wait_ends_as_contended_when_its_time_is_over() {
    let (clock, _store, locks) = paused();
    let _holder = locks.acquire(NAME).await.expect("free");
    // The second one waits in the store's queue, the third behind it in the local queue.
    let wait = || async {
        let start = clock.now();
        let error = locks.acquire(NAME).wait(secs(2)).await.expect_err("held");
        (error.kind(), clock.now().since(start))
    };
    let (second, third) = tokio::join!(wait(), wait());
    for (kind, waited) in [second, third] {
        assert_eq!(kind, ErrorKind::Contended);
        assert!((secs(2)..millis(2_003)).contains(&waited), "{waited:?}");
    }
}

/// No timer counts the time in which the machine was suspended.
#[tokio::test(start_paused = true)]
async fn a_wait_that_a_suspend_has_outlasted_ends_within_a_second() {
    let (clock, _store, locks) = paused();
    let held = locks.acquire(NAME).ttl(secs(1_000));
    let _held = held.await.expect("free");
    for _ in 0..2 {
        let wait = locks.acquire(NAME).wait(secs(60)).into_future();
        let waiting = tokio::spawn(wait);
        settle().await;
        clock.jump(secs(100));
        tokio::time::timeout(millis(1_001), waiting)
            .await
            .expect("in a second")
            .expect("no panic")
            .expect_err("held");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_as_unavailable_when_the_store_could_not_be_reached() {
    let (_, store, locks) = paused();
    store.inject(Operation::Acquire, Fault::Stall);
    let wait = || async {
        locks
            .acquire(NAME)
            .wait(secs(2))
            .await
            .expect_err("down")
            .kind()
    };
    let (first, behind_it) = tokio::join!(wait(), wait());
    assert_eq!(
        (first, behind_it),
        (ErrorKind::Unavailable, ErrorKind::Unavailable)
    );
    let error = locks
        .try_acquire(NAME)
        .ttl(secs(1))
        .await
        .expect_err("down");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn a_zero_wait_and_try_make_one_request() {
    let (_, _store, locks) = paused();
    let holder = locks.acquire(NAME).await.expect("free");
    let waiter = tokio::spawn({
        let locks = locks.clone();
        async move { locks.acquire(NAME).wait_forever().await }
    });
    settle().await;
    assert!(locks.try_acquire(NAME).await.expect("a reply").is_none());
    let error = locks.acquire(NAME).wait(secs(0)).await.expect_err("held");
    assert_eq!(error.kind(), ErrorKind::Contended);
    holder.release().await.expect("held");
    waiter
        .await
        .expect("no panic")
        .expect("granted")
        .release()
        .await
        .expect("held");
}

#[tokio::test(start_paused = true)]
async fn a_try_reaches_the_store_though_others_are_in_the_local_queue() {
    let requests = Arc::new(AtomicUsize::new(0));
    let hook = requests.clone();
    let locks = locker(CountingPolls::new(Memory::new(), move |_| {
        hook.fetch_add(1, Ordering::SeqCst);
    }));
    let _holder = locks.acquire(NAME).await.expect("free");
    let _waiters = [(); 2].map(|()| {
        let locks = locks.clone();
        tokio::spawn(async move { locks.acquire(NAME).wait_forever().await.map(drop) })
    });
    settle().await;
    let before = requests.load(Ordering::SeqCst);
    assert!(locks.try_acquire(NAME).await.expect("a reply").is_none());
    assert_eq!(requests.load(Ordering::SeqCst), before + 1);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_are_served_in_order_and_one_is_on_the_wire() {
    let store = Memory::new();
    let on_wire = Arc::new(AtomicUsize::new(0));
    let requests = on_wire.clone();
    let locks = locker(CountingPolls::new(store.clone(), move |_| {
        requests.fetch_add(1, Ordering::SeqCst);
    }));
    let holder = locks.acquire(NAME).await.expect("free");
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for i in 0..100 {
        let (locks, order) = (locks.clone(), order.clone());
        tasks.push(tokio::spawn(async move {
            let guard = locks.acquire(NAME).await.expect("in its turn");
            order.lock().expect("order").push(i);
            guard.release().await.expect("held");
        }));
        settle().await;
    }
    // The holder's one poll, and one poll of the one waiter that sends requests to the store.
    assert_eq!(on_wire.load(Ordering::SeqCst), 2);
    holder.release().await.expect("held");
    for task in tasks {
        task.await.expect("no panic");
    }
    assert_eq!(*order.lock().expect("order"), (0..100).collect::<Vec<_>>());
    until_unused(&store).await;
}

#[tokio::test(start_paused = true)]
async fn a_waiter_of_another_locker_is_woken_by_a_release_and_by_an_expiry() {
    let (clock, store, locks) = paused();
    let other = Locker::builder(store.clone()).clock(clock.clone()).build();
    let other = other.expect("locker");

    let holder = locks.acquire(NAME).await.expect("free");
    let start = clock.now();
    let (guard, released) = tokio::join!(other.acquire(NAME), holder.release());
    released.expect("held");
    assert_eq!(clock.now(), start, "woken at once");
    drop(guard.expect("granted"));
    settle().await;

    let holder = locks
        .acquire(NAME)
        .ttl(secs(5))
        .no_renewal()
        .await
        .expect("free");
    store.inject(Operation::Release, Fault::LoseRequest);
    let guard = other.acquire(NAME).await.expect("granted");
    assert!(
        clock.now().since(start) <= millis(5_001),
        "{:?}",
        clock.now().since(start)
    );
    assert!(guard.token() > holder.token());
    assert!(guard.remaining() > secs(9), "waiting ate the ttl");
}

#[tokio::test]
async fn shared_ones_hold_together_and_exclude_the_exclusive() {
    let store = Memory::new();
    let (locks, other) = (locker(store.clone()), locker(store.clone()));
    let first = locks.acquire(NAME).shared().await.expect("free");
    let second = locks.acquire(NAME).shared().await.expect("shared");
    let third = other.acquire(NAME).shared().await.expect("shared");
    assert!(other.try_acquire(NAME).await.expect("a reply").is_none());
    drop((first, second, third));
    until_unused(&store).await;
    let exclusive = other.acquire(NAME).await.expect("free");
    assert!(
        locks
            .try_acquire(NAME)
            .shared()
            .await
            .expect("a reply")
            .is_none()
    );
    drop(exclusive);
}

#[tokio::test]
async fn a_waiting_exclusive_one_is_not_starved_by_shared_ones() {
    let store = Memory::new();
    let (locks, other) = (locker(store.clone()), locker(store.clone()));
    let first = locks.acquire(NAME).shared().await.expect("free");
    let exclusive = tokio::spawn(async move { other.acquire(NAME).await });
    settle().await;
    let late = tokio::spawn({
        let locks = locks.clone();
        async move { locks.acquire(NAME).shared().await }
    });
    settle().await;
    assert!(!late.is_finished());
    drop(first);
    let exclusive = exclusive.await.expect("no panic").expect("granted");
    settle().await;
    assert!(!late.is_finished());
    drop(exclusive);
    drop(late.await.expect("no panic").expect("granted"));
}

#[tokio::test]
async fn names_are_kept_apart() {
    let locks = locker(Memory::new());
    let mut guards = Vec::new();
    for name in ["a", "A", "a/b", "a/", "a ", "á", "a{b}", ".", ".."] {
        let guard = locks.try_acquire(name).await.expect("a reply").expect(name);
        assert_eq!(guard.name(), &LockName::new(name).expect("name"));
        guards.push(guard);
    }
}
