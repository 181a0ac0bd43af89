//! K11: bad input is refused with a typed error before any I/O.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_core::{Error, ErrorKind, Locker, LockerBuilder, memory::Memory};

use crate::common::{CountingPolls, NAME, locker, millis, secs};

async fn refused(acquire: impl AsyncFnOnce(&Locker) -> Option<Error>) -> Error {
    let calls = Arc::new(AtomicUsize::new(0));
    let hook = calls.clone();
    let locks = locker(CountingPolls::new(Memory::new(), move |_| {
        hook.fetch_add(1, Ordering::SeqCst);
    }));
    let error = acquire(&locks).await.expect("refused");
    assert_eq!(calls.load(Ordering::SeqCst), 0, "the store was called");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    error
}

#[tokio::test]
async fn names_are_checked() {
    for name in [
        String::new(),
        "x".repeat(256),
        "a\0b".into(),
        "a\nb".into(),
        "\u{85}".into(),
    ] {
        refused(async |locks| locks.acquire(&name).await.err()).await;
        refused(async |locks| locks.try_acquire(&name).await.err()).await;
        refused(async |locks| locks.acquire_all(["ok", name.as_str()]).await.err()).await;
        refused(async |locks| locks.inspect(&name).await.err()).await;
    }
}

#[tokio::test]
async fn ttls_are_checked() {
    for ttl in [Duration::ZERO, millis(9), Duration::MAX] {
        let error = refused(async |locks| locks.acquire(NAME).ttl(ttl).await.err()).await;
        assert!(error.to_string().contains("10ms to 1year"), "{error}");
    }
}

#[tokio::test]
async fn notes_are_checked() {
    for note in ["x".repeat(256), "a\nb".into()] {
        refused(async |locks| locks.acquire(NAME).note(&note).await.err()).await;
    }
}

#[tokio::test]
async fn the_longest_wait_does_not_overflow() {
    let locks = locker(Memory::new());
    let guard = locks.acquire(NAME).wait(Duration::MAX).await.expect("free");
    drop(guard);
}

#[tokio::test]
async fn the_defaults_of_a_locker_are_checked() {
    let build =
        |change: fn(LockerBuilder) -> LockerBuilder| change(Locker::builder(Memory::new())).build();
    let error = build(|b| b.ttl(Duration::ZERO)).expect_err("ttl");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    let error = build(|b| b.token_base(u64::MAX)).expect_err("base");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
}

#[tokio::test]
async fn a_token_base_moves_every_token() {
    let locks = Locker::builder(Memory::new())
        .token_base(1 << 62)
        .ttl(secs(5))
        .build();
    let locks = locks.expect("locker");
    let guard = locks.acquire(NAME).await.expect("free");
    assert_eq!(guard.token().get(), (1 << 62) + 1);
    let holder = locks.inspect(NAME).await.expect("a reply").expect("held");
    assert_eq!(holder.token, Some(guard.token()));
}
