//! A lock whose open file another process has, too, as after a `fork` without `exec`.

use std::{fs, os::fd::OwnedFd, path::Path};

use dlock_core::Guard;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::{
    support::{directory, locker, past_back_off, soon},
    worker::Worker,
};

/// The exception `file.fork`, with this process in place of a child: it has the open file, too.
#[tokio::test]
async fn k06_a_file_that_is_shared_keeps_the_lock_until_both_are_gone() {
    let directory = directory();
    let locks = locker(directory.path());
    let file = directory.path().join("a.lock");
    let mut holder = Worker::start("hold", directory.path());
    holder.hear();
    let shared = shared_with(holder.pid(), &file);
    holder.kill();
    let waiter = tokio::spawn(locks.acquire("a").wait_forever().into_future());
    past_back_off().await;
    assert!(!waiter.is_finished(), "it is no exception any more");
    drop(shared);
    let guard: Guard = soon(waiter).await.expect("waiter").expect("granted");
    // A release is one for both.
    let shared = shared_with(std::process::id(), &file);
    guard.release().await.expect("released");
    let next = locks.try_acquire("a").await.expect("a reply");
    assert!(next.is_some());
    drop(shared);
}

/// The open files of a process at this path, as a child of it has them.
fn shared_with(process: u32, path: &Path) -> Vec<OwnedFd> {
    let number = i32::try_from(process).expect("a process");
    let pid = Pid::from_raw(number).expect("a process");
    let handle = pidfd_open(pid, PidfdFlags::empty()).expect("its handle");
    let files = fs::read_dir(format!("/proc/{process}/fd")).expect("its files");
    let files = files.map(|file| file.expect("a file"));
    let is_at = |file: &fs::DirEntry| fs::read_link(file.path()).is_ok_and(|at| at == path);
    let numbers = files.filter(is_at).map(|file| {
        let number = file.file_name().into_string().expect("a number");
        number.parse().expect("a number")
    });
    let shared: Vec<_> = numbers
        .map(|number| pidfd_getfd(&handle, number, PidfdGetfdFlags::empty()).expect("a copy"))
        .collect();
    assert!(!shared.is_empty(), "it has not opened it");
    shared
}
