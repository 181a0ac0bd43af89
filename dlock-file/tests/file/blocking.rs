//! Processes without a runtime of their own.

use std::{fs, thread};

use crate::{
    jobs::{COUNTER, COUNTS},
    support::{blocking_locker, directory, locker, soon},
    worker::Worker,
};

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
    let holder = thread::spawn(move || blocking_locker(&path).acquire("a").lock());
    let guard = holder.join().expect("no panic").expect("free");
    let locks = locker(directory.path());
    assert!(locks.try_acquire("a").await.expect("sent").is_none());
    let waiter = tokio::spawn(locks.acquire("a").wait_forever().into_future());
    let token = guard.token();
    tokio::task::spawn_blocking(move || guard.release())
        .await
        .expect("no panic")
        .expect("released");
    let next = soon(waiter).await.expect("no panic").expect("granted");
    assert!(next.token() > token);
}
