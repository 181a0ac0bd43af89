//! Guards and lockers where tokio is not, or not any more.

use std::time::Duration;

use dlock_core::{ErrorKind, Guard, Locker, memory::Memory};
use tokio::runtime::{Builder, Runtime};

use crate::common::{NAME, locker, millis, until_unused};

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("runtime")
}

fn held(runtime: &Runtime, store: &Memory) -> (Locker, Guard) {
    runtime.block_on(async {
        let locks = locker(store.clone());
        let guard = locks.acquire(NAME).await.expect("free");
        (locks, guard)
    })
}

#[test]
fn a_guard_dropped_off_runtime_is_released() {
    let (runtime, store) = (runtime(), Memory::new());
    let (_locks, guard) = held(&runtime, &store);
    std::thread::spawn(move || drop(guard))
        .join()
        .expect("no panic");
    runtime.block_on(until_unused(&store));
}

#[test]
fn a_guard_dropped_by_a_panic_is_released() {
    let (runtime, store) = (runtime(), Memory::new());
    let (_locks, guard) = held(&runtime, &store);
    let panicked = runtime.block_on(async {
        tokio::spawn(async move {
            let _guard = guard;
            std::panic::resume_unwind(Box::new("the work failed"));
        })
        .await
    });
    assert!(panicked.expect_err("panicked").is_panic());
    runtime.block_on(until_unused(&store));
}

#[test]
fn a_guard_that_outlives_its_runtime_neither_panics_nor_hangs() {
    let store = Memory::new();
    let first = runtime();
    let (locks, guard) = held(&first, &store);
    drop(first);
    assert!(guard.is_held(), "the clock alone says so");
    let second = runtime();
    let released = second.block_on(guard.release());
    assert!(released.is_ok(), "memory needs no runtime: {released:?}");
    drop(locks);
}

#[test]
fn a_guard_of_a_runtime_that_is_just_ending_neither_panics_nor_hangs() {
    let store = Memory::new();
    let first = runtime();
    let (locks, guard) = held(&first, &store);
    first.shutdown_background();
    let second = runtime();
    if let Err(error) = second.block_on(guard.release()) {
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("runtime"), "{error}");
    }
    drop(locks);
}

#[test]
fn a_guard_held_by_a_task_while_the_runtime_shuts_down() {
    let store = Memory::new();
    let runtime = runtime();
    let (_locks, guard) = held(&runtime, &store);
    runtime.spawn(async move {
        let _guard = guard;
        std::future::pending::<()>().await;
    });
    runtime.shutdown_timeout(Duration::from_secs(5));
}

#[test]
fn a_locker_that_outlives_its_runtime_answers_unavailable() {
    let store = Memory::new();
    let first = runtime();
    let (locks, guard) = held(&first, &store);
    let second = runtime();
    let waiting = second.spawn({
        let locks = locks.clone();
        async move { locks.acquire(NAME).wait_forever().await }
    });
    second.block_on(async { tokio::time::sleep(millis(1)).await });
    drop(first);
    let error = second
        .block_on(waiting)
        .expect("no panic")
        .expect_err("its runtime is gone");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let error = second
        .block_on(async { locks.acquire("other").await })
        .expect_err("gone");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("runtime"), "{error}");
    drop(guard);
}

#[test]
fn a_runtime_that_ends_before_it_ran_any_task_is_noticed() {
    let first = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("runtime");
    let locks = first.block_on(async { locker(Memory::new()) });
    drop(first);
    let error = runtime()
        .block_on(async { locks.acquire(NAME).await })
        .expect_err("gone");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[test]
fn a_waiter_whose_runtime_ends_leaves_nothing() {
    let (runtime, store) = (runtime(), Memory::new());
    let (locks, guard) = held(&runtime, &store);
    for _ in 0..20 {
        let other = self::runtime();
        let (queued, is_queued) = std::sync::mpsc::channel();
        let locks = locks.clone();
        other.spawn(async move {
            let acquire = async { locks.acquire(NAME).wait_forever().await };
            let mut acquire = std::pin::pin!(acquire);
            let waiting = tokio::time::timeout(millis(1), acquire.as_mut()).await;
            assert!(waiting.is_err());
            let _ = queued.send(());
            acquire.await.map(drop)
        });
        is_queued.recv().expect("it waits");
        drop(other);
    }
    runtime.block_on(async {
        drop(guard);
        until_unused(&store).await;
        locks
            .acquire(NAME)
            .await
            .expect("free")
            .release()
            .await
            .expect("held");
    });
}

#[test]
fn a_locker_dropped_before_its_guard() {
    let (runtime, store) = (runtime(), Memory::new());
    let (locks, guard) = held(&runtime, &store);
    drop(locks);
    assert!(guard.is_held());
    runtime.block_on(async move {
        guard.release().await.expect("held");
        until_unused(&store).await;
    });
}

#[test]
fn outside_a_runtime_there_is_no_locker() {
    let error = Locker::builder(Memory::new())
        .build()
        .expect_err("no runtime");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
}

#[test]
fn futures_and_guards_can_be_sent_and_kept() {
    fn is_send<T: Send + 'static>(_: &T) {}
    runtime().block_on(async {
        let locks = locker(Memory::new());
        let acquire = async move { locks.acquire(NAME).await };
        is_send(&acquire);
        let guard = acquire.await.expect("free");
        is_send(&guard);
        is_send(&guard.lost());
        is_send(&guard.expires_within(millis(1)));
        is_send(&guard.release());
    });
}
