//! Processes without a runtime of their own.

use std::{fs, path::Path, thread};

use dlock_core::{Locker, blocking};

use crate::{
    jobs::{COUNTER, COUNTS},
    support::{directory, locker, open, soon},
    worker::{Worker, say},
};

fn blocking_locker(directory: &Path) -> blocking::Locker {
    blocking::Locker::builder(open(directory))
        .build()
        .expect("locker")
}

/// Adds up in a file from two threads, in a way that loses counts without a lock.
pub(crate) fn count(directory: &Path) {
    let locks = blocking_locker(directory);
    let count = || {
        let counter = directory.join(COUNTER);
        for _ in 0..COUNTS / 2 {
            let guard = locks.acquire("a").wait_forever().lock().expect("granted");
            let counted = fs::read_to_string(&counter).expect("read");
            let counted: u64 = counted.parse().expect("number");
            thread::yield_now();
            fs::write(&counter, (counted + 1).to_string()).expect("written");
            say(guard.token());
            guard.release().expect("released");
        }
    };
    thread::scope(|threads| {
        threads.spawn(count);
        threads.spawn(count);
    });
}

#[test]
fn k01_counting_in_processes_without_a_runtime_loses_nothing() {
    const PROCESSES: u64 = 4;
    let directory = directory();
    fs::write(directory.path().join(COUNTER), "0").expect("written");
    let workers: Vec<Worker> = (0..PROCESSES)
        .map(|_| Worker::start("count without a runtime", directory.path()))
        .collect();
    let mut tokens = Vec::new();
    for mut worker in workers {
        while let Some(token) = worker.try_hear() {
            tokens.push(token.parse::<u64>().expect("token"));
        }
    }
    let counted = fs::read_to_string(directory.path().join(COUNTER)).expect("read");
    assert_eq!(counted.parse(), Ok(PROCESSES * COUNTS));
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len() as u64, PROCESSES * COUNTS);
}

#[tokio::test]
async fn k01_blocking_and_async_lockers_exclude_each_other() {
    let directory = directory();
    let path = directory.path().to_owned();
    let threads = thread::spawn(move || {
        let guard = blocking_locker(&path).acquire("a").lock();
        guard.expect("free")
    });
    let guard = threads.join().expect("no panic");
    let locks: Locker = locker(directory.path());
    let waiter = locks.acquire("a").wait_forever();
    assert!(locks.try_acquire("a").await.expect("sent").is_none());
    let token = guard.token();
    // The last handle: it is free when the drop returns.
    drop(guard);
    assert!(locks.try_acquire("a").await.expect("sent").is_some());
    assert!(soon(waiter.into_future()).await.expect("granted").token() > token);
}
