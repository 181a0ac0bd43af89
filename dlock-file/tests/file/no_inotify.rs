//! A user without a free inotify instance: there are no notifications.

use std::{fs, os::unix::fs::chown, path::Path, time::Duration};

use dlock_core::{Clock, LostCause};
use rustix::{
    fs::inotify::{self, CreateFlags},
    io::Errno,
};

use crate::{
    support::{OTHER_USER, binary_for_other_users, directory, locker, past_back_off, soon},
    worker::{Worker, say},
};

/// The poll interval of a waiter.
const HAND_OVER_MAX: Duration = Duration::from_millis(50);

const LOSS_MAX: Duration = Duration::from_secs(1);

/// A busy machine may be so late.
const SLACK: Duration = Duration::from_millis(300);

/// The exception `file.no-inotify`. The instances are used up for a user who does nothing else, so only root can
/// show it.
#[test]
fn k06_without_inotify_waiters_poll() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let outer = directory();
    let binary = binary_for_other_users(outer.path());
    let locks = outer.path().join("locks");
    fs::create_dir(&locks).expect("made");
    chown(&locks, Some(OTHER_USER), None).expect("chown");
    let mut worker = Worker::start_as("poll", &locks, &binary, Some(OTHER_USER));
    assert_eq!(worker.hear(), "no instance is left");
    assert_eq!(worker.hear(), "handed over");
    assert_eq!(worker.hear(), "lost");
}

/// Hands a lock over, and loses one.
pub(crate) async fn poll(directory: &Path) {
    let flags = CreateFlags::CLOEXEC;
    let mut instances = Vec::new();
    let full = loop {
        match inotify::init(flags) {
            Ok(instance) => instances.push(instance),
            Err(error) => break error,
        }
    };
    assert_eq!(full, Errno::MFILE);
    say("no instance is left");
    let (one, other) = (locker(directory), locker(directory));
    let held = one.acquire("a").await.expect("free");
    let waiter = tokio::spawn(other.acquire("a").into_future());
    past_back_off().await;
    let clock = Clock::boottime();
    let freed = clock.now();
    held.release().await.expect("released");
    let held = soon(waiter).await.expect("waiter").expect("granted");
    let took = clock.now().since(freed);
    assert!(took <= HAND_OVER_MAX + SLACK, "{took:?}");
    say("handed over");
    let removed = clock.now();
    fs::remove_file(directory.join("a.lock")).expect("removed");
    assert_eq!(soon(held.lost()).await, LostCause::Removed);
    let took = clock.now().since(removed);
    assert!(took <= LOSS_MAX + SLACK, "{took:?}");
    say("lost");
}
