//! How locks, backends and runtimes end, and what they leave.

use std::{fs, path::Path, sync::Arc, time::Duration};

use dlock_core::{Error, ErrorKind, LostCause, backend::DistributedLock};

use crate::support::{directory, locker, locker_of, open, past_back_off, soon};

#[tokio::test]
async fn k12_close_ends_everything() {
    let directory = directory();
    let backend = Arc::new(open(directory.path()));
    let locks = locker_of(&backend);
    let guard = locks.acquire("a").await.expect("free");
    let waiter = tokio::spawn(locks.acquire("a").wait_forever().into_future());
    tokio::task::yield_now().await;
    assert!(
        descriptors_of(directory.path()) > 1,
        "the directory and the file"
    );
    backend.close().await.expect("closed");
    backend.close().await.expect("again");
    soon(guard.lost()).await;
    let unavailable = |error: Error| assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    unavailable(soon(waiter).await.expect("waiter").expect_err("closed"));
    unavailable(locks.try_acquire("a").await.expect_err("closed"));
    unavailable(locks.inspect("a").await.expect_err("closed"));
    assert_eq!(descriptors_of(directory.path()), 0);
    assert!(
        locker(directory.path())
            .try_acquire("a")
            .await
            .expect("a reply")
            .is_some()
    );
}

#[tokio::test]
async fn k12_nothing_is_left_after_a_shutdown_or_a_drop() {
    let directory = directory();
    for shuts_down in [true, false] {
        let backend = Arc::new(open(directory.path()));
        let gone = Arc::downgrade(&backend);
        let locks = locker_of(&backend);
        drop(backend);
        drop(locks.acquire("a").await.expect("free"));
        locks
            .acquire("b")
            .await
            .expect("free")
            .release()
            .await
            .expect("released");
        if shuts_down {
            locks
                .shutdown(Duration::from_secs(5))
                .await
                .expect("shut down");
        }
        drop(locks);
        soon(async {
            while gone.upgrade().is_some() || descriptors_of(directory.path()) > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
}

#[test]
fn a_backend_outlives_the_runtime_it_was_first_used_in() {
    let directory = directory();
    let backend = Arc::new(open(directory.path()));
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
    };
    let first = runtime().expect("runtime");
    first.block_on(async {
        let locks = locker_of(&backend);
        let guard = locks.acquire("a").await.expect("free");
        guard.release().await.expect("released");
        // It must not close the backend when it goes.
        std::mem::forget(locks);
    });
    drop(first);
    runtime().expect("runtime").block_on(async {
        let (locks, other) = (locker_of(&backend), locker(directory.path()));
        let guard = locks.acquire("a").await.expect("free");
        let waiter = tokio::spawn(other.acquire("a").wait_forever().into_future());
        past_back_off().await;
        fs::remove_file(directory.path().join("a.lock")).expect("removed");
        soon(guard.lost()).await;
        drop(soon(waiter).await.expect("waiter").expect("granted"));
    });
}

#[tokio::test]
async fn k02_a_lease_without_renewal_ends_at_its_ttl() {
    let directory = directory();
    let locks = locker(directory.path());
    let guard = locks
        .acquire("a")
        .ttl(Duration::from_millis(60))
        .no_renewal()
        .await
        .expect("free");
    assert_eq!(soon(guard.lost()).await, LostCause::Expired);
    let other = locker(directory.path());
    drop(
        soon(other.acquire("a").into_future())
            .await
            .expect("freed after the loss"),
    );
    let guard = locks.acquire("b").await.expect("free");
    assert_eq!(guard.remaining(), Duration::MAX);
    guard.renew().await.expect("still there");
}

/// How many descriptors of this process are open at or below `path`.
fn descriptors_of(path: &Path) -> usize {
    let open = fs::read_dir("/proc/self/fd").expect("Linux");
    open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter(|target| target.starts_with(path))
        .count()
}
