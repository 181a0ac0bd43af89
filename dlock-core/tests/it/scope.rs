//! `scope` and `run`: work under a lock.

use dlock_core::{
    Error, ErrorKind,
    memory::{Fault, Memory, Operation},
};

use crate::common::{NAME, locker, millis, paused, secs, until_unused};

#[tokio::test]
async fn a_scope_gives_the_value_and_releases() {
    let store = Memory::new();
    let locks = locker(store.clone());
    let value = locks
        .scope(NAME, async |guard| Ok::<_, Error>(guard.token().get()))
        .await;
    assert_eq!(value.expect("held"), 1);
    assert!(store.names().is_empty(), "released before it returned");
}

#[tokio::test]
async fn the_error_of_the_body_comes_back_and_the_lock_is_released() {
    let store = Memory::new();
    let locks = locker(store.clone());
    let result: Result<(), Box<dyn std::error::Error>> =
        locks.scope(NAME, async |_| Err("no paper".into())).await;
    assert_eq!(result.expect_err("body failed").to_string(), "no paper");
    assert!(store.names().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_lost_lock_stops_the_body() {
    let (_, store, locks) = paused();
    let body = async |_: &dlock_core::Guard| -> Result<(), Error> {
        store.revoke(NAME);
        std::future::pending().await
    };
    let error = locks.scope(NAME, body).await.expect_err("lost");
    assert_eq!(error.kind(), ErrorKind::Lost);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_overran_its_lock_is_lost_though_it_ended() {
    let (clock, _store, locks) = paused();
    let overrun = async |_: &dlock_core::Guard| {
        clock.jump(secs(11));
        Ok::<_, Error>(())
    };
    let error = locks.scope(NAME, overrun).await.expect_err("lost");
    assert_eq!(error.kind(), ErrorKind::Lost);
    let guard = locks.acquire(NAME).await.expect("free");
    let error = guard
        .run(async { clock.jump(secs(11)) })
        .await
        .expect_err("lost");
    assert_eq!(error.kind(), ErrorKind::Lost);
}

#[tokio::test(start_paused = true)]
async fn a_failed_release_does_not_fail_finished_work() {
    let (_, store, locks) = paused();
    store.inject(Operation::Release, Fault::Deny);
    let value = locks.scope(NAME, async |_| Ok::<_, Error>(7)).await;
    assert_eq!(value.expect("the work is done"), 7);
    store.clear_faults();
    until_unused(&store).await;
}

#[tokio::test(start_paused = true)]
async fn a_release_that_is_not_confirmed_says_so_and_goes_on() {
    for fault in [Fault::LoseRequest, Fault::LoseReply, Fault::Stall] {
        let (_, store, locks) = paused();
        let guard = locks.acquire(NAME).await.expect("free");
        store.inject_once(Operation::Release, fault);
        let error = guard.release().await.expect_err("no answer");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{fault:?}");
        until_unused(&store).await;
    }
}

#[tokio::test]
async fn a_scope_that_is_dropped_releases() {
    let store = Memory::new();
    let locks = locker(store.clone());
    let body = async |_: &dlock_core::Guard| -> Result<(), Error> { std::future::pending().await };
    let scope = tokio::time::timeout(millis(20), locks.scope(NAME, body));
    assert!(scope.await.is_err());
    until_unused(&store).await;
}

#[tokio::test]
async fn a_scope_can_be_spawned() {
    let locks = locker(Memory::new());
    let task = tokio::spawn(async move {
        locks
            .scope(NAME, async |guard| Ok::<_, Error>(guard.token()))
            .await
    });
    task.await.expect("no panic").expect("held");
}
