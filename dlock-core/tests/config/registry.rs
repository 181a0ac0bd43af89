//! Schemes: unknown, left out, and opened only with good settings.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    Error, ErrorKind,
    config::{Config, Registry, Settings},
    memory::Memory,
};

fn registry(opened: &Arc<AtomicUsize>) -> Registry {
    let opened = opened.clone();
    Registry::new()
        .register_disabled("redis", "redis")
        .register("memory", move |_: &mut Settings| {
            let opened = opened.clone();
            Ok(Box::pin(async move {
                opened.fetch_add(1, Ordering::Relaxed);
                Ok(Box::new(Memory::new()) as _)
            }))
        })
}

async fn refused(url: &str) -> Error {
    let opened = Arc::default();
    let result = registry(&opened)
        .connect(&Config::from_url(url).unwrap())
        .await;
    assert_eq!(
        opened.load(Ordering::Relaxed),
        0,
        "no I/O before all is known to be good"
    );
    let error = result.expect_err(url);
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    error
}

#[tokio::test]
async fn an_unknown_scheme_lists_the_known_ones() {
    for (url, message) in [
        (
            "consul://h",
            "unknown scheme \"consul\"; known: memory, redis",
        ),
        (
            "reddis://h",
            "unknown scheme \"reddis\" (did you mean \"redis\"?); known: memory, redis",
        ),
        (
            "localhost:6379",
            "unknown scheme \"localhost\" (did you mean \"redis://localhost:6379\"?); known: memory, redis",
        ),
    ] {
        assert_eq!(refused(url).await.to_string(), message);
    }
}

#[test]
fn only_schemes_that_can_be_opened_are_listed() {
    let registry = registry(&Arc::default());
    assert_eq!(registry.schemes().collect::<Vec<_>>(), ["memory"]);
    let registry = registry.without("memory");
    let config = Config::from_url("memory:").unwrap();
    let error = registry.check(&config).expect_err("removed");
    assert_eq!(error.to_string(), "unknown scheme \"memory\"; known: redis");
}

#[tokio::test]
async fn a_backend_that_was_left_out_names_its_feature() {
    let message = "redis: is not built in; turn on the cargo feature \"redis\" of dlock";
    assert_eq!(refused("redis://h").await.to_string(), message);
}

#[tokio::test]
async fn bad_settings_open_nothing() {
    let error = refused("memory:?ttl=5").await;
    assert_eq!(error.backend(), Some("memory"));
    assert_eq!(error.operation(), Some("connect"));
    refused("memory:?ttll=5s").await;
    refused("memory://h").await;
}

#[tokio::test]
async fn good_settings_make_a_locker() {
    let opened = Arc::default();
    let config = Config::from_url("MEMORY:?ttl=10s&wait=0s&token_base=1000").unwrap();
    let locks = registry(&opened).connect(&config).await.unwrap();
    assert_eq!(opened.load(Ordering::Relaxed), 1);
    let guard = locks.acquire("a").await.unwrap();
    assert!(guard.token().get() > 1000);
    assert!(guard.remaining() <= Duration::from_secs(10));
    let error = locks
        .acquire("a")
        .await
        .expect_err("taken, and the wait is zero");
    assert_eq!(error.kind(), ErrorKind::Contended);
    guard.release().await.unwrap();
    locks.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn a_later_backend_takes_the_place_of_an_earlier_one() {
    let opened = Arc::default();
    let other = Arc::default();
    let registry = registry(&opened).register("redis", move |_: &mut Settings| {
        let _: &Arc<()> = &other;
        Ok(Box::pin(async { Ok(Box::new(Memory::new()) as _) }))
    });
    assert!(
        registry
            .open(&Config::from_url("redis:").unwrap())
            .await
            .is_ok()
    );
    assert_eq!(format!("{registry:?}"), "{\"memory\", \"redis\"}");
}

/// A store that fails so often with `kind` before it can be opened, and the tries to open it.
fn failing(times: usize, kind: ErrorKind) -> (Registry, Arc<AtomicUsize>) {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    let registry = Registry::new().register("memory", move |_: &mut Settings| {
        let fails = counted.fetch_add(1, Ordering::Relaxed) < times;
        Ok(Box::pin(async move {
            match fails {
                true => Err(Error::new(kind, "it fails")),
                false => Ok(Box::new(Memory::new()) as _),
            }
        }))
    });
    (registry, tries)
}

#[tokio::test]
async fn a_store_that_cannot_be_reached_is_waited_for() {
    let (registry, tries) = failing(2, ErrorKind::Unavailable);
    let config = Config::from_url("memory:?connect_wait=1m").unwrap();
    assert!(registry.connect(&config).await.is_ok());
    assert_eq!(tries.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn connecting_fails_at_once_without_a_wait_or_when_the_store_refuses() {
    for (url, kind) in [
        ("memory:", ErrorKind::Unavailable),
        ("memory:?connect_wait=0s", ErrorKind::Unavailable),
        ("memory:?connect_wait=1m", ErrorKind::Denied),
        ("memory:?connect_wait=1m", ErrorKind::InvalidConfig),
    ] {
        let (registry, tries) = failing(1, kind);
        let config = Config::from_url(url).unwrap();
        let error = registry.connect(&config).await.expect_err(url);
        assert_eq!(error.kind(), kind, "{url}: {error}");
        assert!(
            error.to_string().starts_with("cannot connect (memory)"),
            "{error}"
        );
        assert_eq!(tries.load(Ordering::Relaxed), 1, "{url}");
    }
}
