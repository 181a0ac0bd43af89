//! K8: files and directories that are taken away.

use std::{fs, time::Duration};

use dlock_core::{Clock, ErrorKind, LostCause};

use crate::support::{directory, locker, past_back_off, soon};

#[tokio::test]
async fn k08_a_removed_file_is_a_loss_at_once() {
    let directory = directory();
    let locks = locker(directory.path());
    let guard = locks.acquire("a").await.expect("free");
    let bystander = locks.acquire("b").await.expect("free");
    let clock = Clock::boottime();
    let removed = clock.now();
    fs::remove_file(directory.path().join("a.lock")).expect("removed");
    assert_eq!(soon(guard.lost()).await, LostCause::Removed);
    let took = clock.now().since(removed);
    assert!(took < Duration::from_millis(500), "{took:?}: no event");
    assert!(!guard.is_held() && bystander.is_held());
    assert_eq!(
        guard.release().await.expect_err("lost").kind(),
        ErrorKind::Lost
    );
    // The name goes on with a new file.
    assert!(locks.try_acquire("a").await.expect("a reply").is_some());
    bystander.release().await.expect("never lost");
}

#[tokio::test]
async fn k08_a_replaced_file_is_a_loss_at_once() {
    let directory = directory();
    let locks = locker(directory.path());
    let guard = locks.acquire("a").await.expect("free");
    let new = directory.path().join("new");
    fs::write(&new, "").expect("written");
    fs::rename(&new, directory.path().join("a.lock")).expect("replaced");
    soon(guard.lost()).await;
}

#[tokio::test]
async fn k08_a_moved_or_removed_directory_is_a_loss() {
    let outer = directory();
    let inner = outer.path().join("locks");
    let locks = locker(&inner);
    let guard = locks.acquire("a").await.expect("free");
    fs::rename(&inner, outer.path().join("elsewhere")).expect("moved");
    soon(guard.lost()).await;
    // It is created again, with all checks, and watched as the first one was.
    let guard = locks.acquire("a").await.expect("free in the new one");
    fs::remove_dir_all(&inner).expect("removed");
    soon(guard.lost()).await;
    let guard = locks.acquire("a").await.expect("free in the third one");
    fs::remove_file(inner.join("a.lock")).expect("removed");
    soon(guard.lost()).await;
}

#[tokio::test]
async fn k08_a_moved_parent_is_a_loss_without_an_event() {
    let outer = directory();
    fs::create_dir(outer.path().join("parent")).expect("made");
    let locks = locker(&outer.path().join("parent/locks"));
    let guard = locks.acquire("a").await.expect("free");
    fs::rename(outer.path().join("parent"), outer.path().join("elsewhere")).expect("moved");
    soon(guard.lost()).await;
    let error = locks.acquire("a").await.expect_err("no parent");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
}

#[tokio::test]
async fn a_waiter_leaves_a_file_that_is_gone() {
    let directory = directory();
    let (one, other) = (locker(directory.path()), locker(directory.path()));
    let file = directory.path().join("a.lock");
    // Held by a program that does not care for its file, and so never lets go of it.
    let old = fs::File::create(&file).expect("made");
    old.lock().expect("free");
    let waiter = tokio::spawn(other.acquire("a").wait_forever().into_future());
    past_back_off().await;
    assert!(!waiter.is_finished());
    fs::remove_file(&file).expect("removed");
    let new = soon(waiter).await.expect("waiter").expect("granted");
    assert!(new.is_held() && file.exists());
    assert!(
        one.try_acquire("a").await.expect("a reply").is_none(),
        "the new file is locked"
    );
}

#[tokio::test]
async fn a_file_replaced_before_it_is_locked_is_no_lock() {
    let directory = directory();
    let (one, other) = (locker(directory.path()), locker(directory.path()));
    let file = directory.path().join("a.lock");
    for _ in 0..20 {
        let old = one.acquire("a").await.expect("free");
        let waiter = tokio::spawn(other.acquire("a").wait_forever().into_future());
        past_back_off().await;
        // One thread and no await before the release: the waiter, which has the old file open, finds
        // it free and gone.
        fs::remove_file(&file).expect("removed");
        fs::write(&file, "").expect("replaced");
        let _ = old.release().await;
        let new = soon(waiter)
            .await
            .expect("waiter")
            .expect("granted, by the new file");
        assert!(
            one.try_acquire("a").await.expect("a reply").is_none(),
            "the new file is locked"
        );
        new.release().await.expect("held to its end");
    }
}
