//! The results of `connect`: good URLs, and clear refusals of bad ones.

#![expect(clippy::expect_used, reason = "a test fails by it")]

use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use dlock::{Config, Error, ErrorKind};

async fn refused(url: &str) -> Error {
    let error = dlock::connect(url).await.expect_err(url);
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    error
}

#[tokio::test]
async fn a_url_or_a_configuration() {
    let config = Config::from_toml("url = 'memory:'\nttl = '10s'").expect("config");
    for locks in [
        dlock::connect("memory:?ttl=10s").await,
        dlock::connect("MEMORY:?ttl=10s".to_owned()).await,
        dlock::connect(config).await,
    ] {
        let locks = locks.expect("connect");
        let guard = locks.acquire("a").await.expect("acquire");
        assert!(guard.remaining() <= Duration::from_secs(10));
    }
}

/// All schemes, as messages list them.
const KNOWN: &str = "known: etcd, etcds, file, mariadb, memory, migrate, mysql, quorum, redis, redis-cluster, \
                     redis-quorum, redis-sentinel, rediss, rediss-cluster, rediss-quorum, rediss-sentinel, zk, zks";

#[tokio::test]
async fn wrong_settings() {
    for (url, message) in [
        ("", "URL \"\": it is empty"),
        (
            "/var/lock",
            "URL \"/var/lock\": it has no scheme, as in \"redis://host\" or \
          \"file:/directory\"",
        ),
        ("consul://h", "unknown scheme \"consul\"; {known}"),
        (
            "flie:/x",
            "unknown scheme \"flie\" (did you mean \"file\"?); {known}",
        ),
        (
            "memory:x",
            "cannot connect (memory): the URL has a path, which this store has no use for",
        ),
        (
            "memory://h",
            "cannot connect (memory): the URL has a host, which this store has no use for",
        ),
        (
            "memory:?prefix=a",
            "cannot connect (memory): unknown key \"prefix\"; known keys: connect_wait, token_base, ttl, wait",
        ),
        (
            "memory:?tll=1s",
            "cannot connect (memory): unknown key \"tll\" (did you mean \"ttl\"?); known keys: \
             connect_wait, token_base, ttl, wait",
        ),
        (
            "memory:?ttl=1s&ttl=2s",
            "URL \"memory:?ttl=1s&ttl=2s\": key \"ttl\" is given twice",
        ),
        (
            "memory:?ttl=5",
            "cannot connect (memory): ttl=5: a time needs a unit, as in 5s or 5ms",
        ),
        (
            "memory:?ttl=0s",
            "cannot connect (memory): ttl 0s is out of range (10ms to 30days)",
        ),
    ] {
        let message = message.replace("{known}", KNOWN);
        assert_eq!(refused(url).await.to_string(), message);
    }
}

#[test]
fn outside_a_runtime() {
    let connect = pin!(dlock::connect("memory:"));
    let Poll::Ready(result) = connect.poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("nothing to wait for");
    };
    let error = result.expect_err("no runtime");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    assert_eq!(
        error.to_string(),
        "cannot connect (memory): a locker is made inside a tokio runtime"
    );
}

#[cfg(not(feature = "file"))]
#[tokio::test]
async fn a_store_that_was_left_out_names_its_feature() {
    let message = "file: is not built in; turn on the cargo feature \"file\" of dlock";
    assert_eq!(refused("file:/var/lock/app").await.to_string(), message);
}

#[cfg(not(feature = "redis"))]
#[tokio::test]
async fn a_store_that_was_left_out_names_its_feature() {
    let error = refused("redis://h").await;
    let message = "redis: is not built in; turn on the cargo feature \"redis\" of dlock";
    assert_eq!(error.to_string(), message);
}

#[cfg(not(feature = "etcd"))]
#[tokio::test]
async fn etcd_that_was_left_out_names_its_feature() {
    let error = refused("etcds://h").await;
    let message = "etcds: is not built in; turn on the cargo feature \"etcd\" of dlock";
    assert_eq!(error.to_string(), message);
}

#[cfg(not(feature = "tls"))]
#[tokio::test]
async fn tls_that_was_left_out_names_its_feature() {
    let urls = [
        #[cfg(feature = "etcd")]
        ("etcds", "etcds://h?tls_ca=/x"),
        #[cfg(feature = "mysql")]
        ("mysql", "mysql://u@h/d?tls=required"),
        #[cfg(feature = "redis")]
        ("rediss", "rediss://h"),
        #[cfg(feature = "zk")]
        ("zks", "zks://h"),
        ("", ""),
    ];
    for (scheme, url) in urls.into_iter().filter(|(_, url)| !url.is_empty()) {
        let message = format!(
            "cannot connect ({scheme}): TLS is not built in; turn on the cargo feature \"tls\" of dlock"
        );
        assert_eq!(refused(url).await.to_string(), message);
    }
}
