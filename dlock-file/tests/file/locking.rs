//! The contract within one process: two backends of one directory are as two processes.

use std::{fs, time::Duration};

use dlock_core::{Clock, ErrorKind, Holder};

use crate::support::{directory, locker, past_back_off, soon};

#[tokio::test]
async fn k01_one_at_a_time() {
    let directory = directory();
    let (one, other) = (locker(directory.path()), locker(directory.path()));
    let guard = one.acquire("a").await.expect("free");
    assert!(other.try_acquire("a").await.expect("a reply").is_none());
    assert!(one.try_acquire("a").await.expect("a reply").is_none());
    assert!(other.try_acquire("b").await.expect("a reply").is_some());
    guard.release().await.expect("released");
    assert!(other.try_acquire("a").await.expect("a reply").is_some());
}

#[tokio::test]
async fn k05_tokens_grow_over_all_changes_of_the_file() {
    let directory = directory();
    let locks = locker(directory.path());
    let file = directory.path().join("a.lock");
    let mut last = 0;
    let mut grows = async || {
        let guard = locks
            .try_acquire("a")
            .await
            .expect("a reply")
            .expect("free");
        let token = guard.token().get();
        guard.release().await.expect("released");
        assert!(token > last, "{token} after {last}");
        last = token;
    };
    grows().await;
    grows().await;
    let damages: [&[u8]; 6] = [
        b"",
        b"garbage",
        b"dlock 1 00000000000000000001\n\n\n",
        b"dlock 1 99999999999999999999\n\n\n",
        b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        &[0xff; 5000],
    ];
    for damage in damages {
        fs::write(&file, damage).expect("damaged");
        grows().await;
    }
    fs::remove_file(&file).expect("removed");
    grows().await;
    // The last token counts where the clock is behind it.
    fs::write(&file, b"dlock 1 04000000000000000000\n\n\n").expect("written");
    grows().await;
    assert_eq!(last, 4_000_000_000_000_000_001);
}

#[tokio::test]
async fn k06_a_release_wakes_the_waiter_at_once() {
    let directory = directory();
    let (one, other) = (locker(directory.path()), locker(directory.path()));
    let mut least = Duration::MAX;
    for _ in 0..20 {
        let guard = one.acquire("a").await.expect("free");
        let waiter = tokio::spawn({
            let other = other.clone();
            async move {
                other
                    .acquire("a")
                    .wait_forever()
                    .await
                    .expect("free at last")
            }
        });
        past_back_off().await;
        guard.release().await.expect("released");
        let clock = Clock::boottime();
        let released = clock.now();
        let next = soon(waiter).await.expect("waiter");
        least = least.min(clock.now().since(released));
        next.release().await.expect("released");
    }
    assert!(
        least < Duration::from_millis(20),
        "{least:?}: this seems to be polling"
    );
}

#[tokio::test]
async fn k06_a_wait_ends_as_contended() {
    let directory = directory();
    let (one, other) = (locker(directory.path()), locker(directory.path()));
    let _guard = one.acquire("a").await.expect("free");
    let error = soon(
        other
            .acquire("a")
            .wait(Duration::from_millis(30))
            .into_future(),
    )
    .await;
    assert_eq!(error.expect_err("taken").kind(), ErrorKind::Contended);
}

#[tokio::test]
async fn k07_a_dropped_acquire_leaves_nothing() {
    let directory = directory();
    let (one, other) = (locker(directory.path()), locker(directory.path()));
    let guard = one.acquire("a").await.expect("free");
    for _ in 0..50 {
        let waiter = tokio::spawn(other.acquire("a").wait_forever().into_future());
        tokio::task::yield_now().await;
        waiter.abort();
    }
    guard.release().await.expect("released");
    other
        .shutdown(Duration::from_secs(5))
        .await
        .expect("nothing is stuck");
    assert!(one.try_acquire("a").await.expect("a reply").is_some());
}

#[tokio::test]
async fn k10_names_of_every_kind() {
    let directory = directory();
    let locks = locker(directory.path());
    let long = [
        "x".repeat(255),
        format!("{}y", "x".repeat(254)),
        "é".repeat(127),
    ];
    let plain = [
        "a", "A", "a/b", "a%2Fb", "a{b}", ".", "..", " ", "a ", "a.lock", "~", "日本",
    ];
    let names: Vec<&str> = plain
        .into_iter()
        .chain(long.iter().map(String::as_str))
        .collect();
    let mut guards = Vec::new();
    for name in &names {
        guards.push(
            locks
                .try_acquire(*name)
                .await
                .expect("a reply")
                .expect(name),
        );
    }
    // And the version of the layout.
    assert_eq!(
        fs::read_dir(directory.path()).expect("listed").count(),
        names.len() + 1
    );
    let content = fs::read_to_string(directory.path().join("a%2Fb.lock")).expect("read");
    assert_eq!(
        content.lines().nth(1),
        Some("a/b"),
        "people can read the name"
    );
}

#[tokio::test]
async fn inspect_reports_the_holder_and_only_a_living_one() {
    let directory = directory();
    let (one, other) = (locker(directory.path()), locker(directory.path()));
    assert_eq!(other.inspect("a").await.expect("a reply"), None);
    let guard = one.acquire("a").note("checkout 77").await.expect("free");
    let holder = other.inspect("a").await.expect("a reply").expect("held");
    assert_eq!(holder.attempt, Some(guard.id()));
    assert_eq!(holder.token, Some(guard.token()));
    assert_eq!(holder.pid, Some(std::process::id()));
    assert_eq!(holder.note.as_deref(), Some("checkout 77"));
    let file = directory.path().join("a.lock");
    let while_held = fs::read(&file).expect("read");
    guard.release().await.expect("released");
    assert_eq!(other.inspect("a").await.expect("a reply"), None);
    let content = fs::read_to_string(&file).expect("read");
    assert_eq!(
        content.lines().nth(2),
        Some(""),
        "people can read that it is free"
    );
    // What a killed holder leaves.
    fs::write(&file, while_held).expect("written");
    assert_eq!(other.inspect("a").await.expect("a reply"), None);
    // What flock(1) does.
    let foreign = fs::File::create(&file).expect("opened");
    foreign.lock().expect("locked");
    assert_eq!(
        other.inspect("a").await.expect("a reply"),
        Some(Holder::foreign())
    );
}

#[tokio::test]
async fn inspect_reads_the_directory_that_is_there() {
    let outer = directory();
    let inner = outer.path().join("locks");
    let inspector = locker(&inner);
    let before = locker(&inner).acquire("a").await.expect("free");
    let found = inspector
        .inspect("a")
        .await
        .expect("a reply")
        .expect("held");
    assert_eq!(found.attempt, Some(before.id()));
    fs::rename(&inner, outer.path().join("elsewhere")).expect("moved");
    let guard = locker(&inner)
        .acquire("a")
        .await
        .expect("free in the new one");
    let found = inspector
        .inspect("a")
        .await
        .expect("a reply")
        .expect("held");
    assert_eq!(found.attempt, Some(guard.id()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inspecting_never_makes_a_free_lock_appear_taken() {
    let directory = directory();
    let (one, other) = (locker(directory.path()), locker(directory.path()));
    drop(one.acquire("a").await.expect("free").release().await);
    let inspector = tokio::spawn(async move {
        loop {
            other.inspect("a").await.expect("a reply");
            tokio::task::yield_now().await;
        }
    });
    for round in 0..3000 {
        let guard = one.try_acquire("a").await.expect("a reply");
        let guard = guard.unwrap_or_else(|| panic!("taken without a holder in round {round}"));
        guard.release().await.expect("released");
    }
    inspector.abort();
}

#[tokio::test]
async fn shared_locks_are_refused() {
    let directory = directory();
    let locks = locker(directory.path());
    let error = locks
        .acquire("a")
        .shared()
        .await
        .expect_err("exclusive only");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}
