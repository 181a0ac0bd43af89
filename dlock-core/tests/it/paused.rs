//! Tests of users that pause tokio's clock: no setting is needed for a store in memory.

use dlock_core::{ErrorKind, Locker, LostCause, memory::Memory};

use crate::common::{NAME, secs};

#[tokio::test(start_paused = true)]
async fn a_lock_expires_as_the_paused_clock_moves() {
    let locks = Locker::builder(Memory::new()).build().expect("locker");
    let guard = locks
        .acquire(NAME)
        .ttl(secs(30))
        .no_renewal()
        .await
        .expect("free");
    tokio::time::advance(secs(29)).await;
    assert!(guard.is_held());
    tokio::time::advance(secs(1)).await;
    assert!(!guard.is_held());
    assert_eq!(guard.lost().await, LostCause::Expired);
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_minutes_takes_no_time() {
    let locks = Locker::builder(Memory::new()).build().expect("locker");
    let _guard = locks.acquire(NAME).await.expect("free");
    let error = locks
        .acquire(NAME)
        .wait(secs(600))
        .await
        .expect_err("taken");
    assert_eq!(error.kind(), ErrorKind::Contended);
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_renewed_for_hours() {
    let locks = Locker::builder(Memory::new()).build().expect("locker");
    let guard = locks.acquire(NAME).await.expect("free");
    tokio::time::sleep(secs(3 * 3600)).await;
    assert!(guard.is_held());
    guard.release().await.expect("released");
}
