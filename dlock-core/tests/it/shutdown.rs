//! The end of a locker.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use dlock_core::{
    ErrorKind, LockName, Locker, LostCause,
    backend::DistributedLock,
    memory::{Fault, Memory, Operation},
};
use tokio::task::JoinHandle;

use crate::common::{CountingPolls, NAME, Shared, locker, paused, secs, settle, until_unused};

#[tokio::test(start_paused = true)]
async fn guards_are_notified_waiters_end_and_everything_is_released() {
    let (_, store, locks) = paused();
    let guard = locks.acquire(NAME).await.expect("free");
    let waiting = [(); 2].map(|()| {
        let locks = locks.clone();
        tokio::spawn(async move { locks.acquire(NAME).await.map(drop) })
    });
    settle().await;
    locks.shutdown(secs(5)).await.expect("in time");
    assert_eq!(guard.lost().await, LostCause::Closed);
    for waiter in waiting {
        let error = waiter.await.expect("no panic").expect_err("shut down");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }
    assert!(store.names().is_empty());
    let error = locks.acquire(NAME).await.expect_err("shut down");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    locks.shutdown(secs(5)).await.expect("nothing left to do");
    assert_eq!(
        guard.release().await.expect_err("closed").lost_cause(),
        Some(LostCause::Closed)
    );
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_bounds_it() {
    let (clock, store, locks) = paused();
    let _guard = locks.acquire(NAME).await.expect("free");
    store.inject(Operation::Release, Fault::Stall);
    let start = clock.now();
    let error = locks
        .shutdown(secs(3))
        .await
        .expect_err("the release hangs");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(clock.now().since(start) < secs(4));
}

#[tokio::test]
async fn no_task_is_left() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let store = Memory::new();
    let locks = locker(store.clone());
    let guards = locks.acquire_all(["a", "b", "c"]).await.expect("free");
    assert!(metrics.num_alive_tasks() > 0);
    drop((guards, locks));
    until_unused(&store).await;
    let ended = async {
        while metrics.num_alive_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(secs(5), ended)
        .await
        .expect("scheduler and cleanup have ended");
}

#[tokio::test]
async fn the_last_drop_closes_the_backend() {
    let client = Shared::new(Memory::new());
    let locks = client.builder().build().expect("locker");
    let guard = locks.acquire(NAME).await.expect("free");
    drop(locks);
    client
        .inspect(guard.name())
        .await
        .expect("open as long as there is a guard");
    drop(guard);
    let name = LockName::new(NAME).expect("name");
    let closed = async {
        while client.inspect(&name).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(secs(5), closed).await.expect("closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_amid_a_storm_leaves_nothing() {
    for _ in 0..50 {
        let store = Memory::new();
        let locks = locker(store.clone());
        let tasks = storm(&locks);
        tokio::task::yield_now().await;
        locks.shutdown(secs(10)).await.expect("in time");
        for task in tasks {
            task.await.expect("no panic");
        }
        until_unused(&store).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn after_a_shutdown_amid_a_storm_no_attempt_reaches_the_store() {
    for _ in 0..50 {
        let ended = Arc::new(AtomicBool::new(false));
        let late = Arc::new(AtomicUsize::new(0));
        let hook = {
            let (ended, late) = (ended.clone(), late.clone());
            move |_| {
                late.fetch_add(ended.load(Ordering::SeqCst).into(), Ordering::SeqCst);
            }
        };
        let locks = locker(CountingPolls::new(Memory::new(), hook));
        let tasks = storm(&locks);
        tokio::task::yield_now().await;
        locks.shutdown(secs(10)).await.expect("in time");
        ended.store(true, Ordering::SeqCst);
        for task in tasks {
            task.await.expect("no panic");
        }
        assert_eq!(late.load(Ordering::SeqCst), 0);
    }
}

/// Tasks that acquire one lock after the other until the locker ends.
fn storm(locks: &Locker) -> Vec<JoinHandle<()>> {
    let task = |i| {
        let locks = locks.clone();
        tokio::spawn(async move {
            while locks.acquire(format!("n{}", i % 8)).await.is_ok() {
                tokio::task::yield_now().await;
            }
        })
    };
    (0..64).map(task).collect()
}
