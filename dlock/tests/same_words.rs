//! Every backend refuses the same wrong values with the same words, in a URL and in code.

#![cfg(all(
    feature = "etcd",
    feature = "file",
    feature = "mysql",
    feature = "redis",
    feature = "zk"
))]

use std::time::Duration;

use dlock::{ErrorKind, config::Tls};
use dlock_etcd::{EtcdConfig, EtcdLock};
use dlock_file::{FileConfig, FileLock};
use dlock_mysql::{MySqlConfig, MySqlLock};
use dlock_redis::{RedisConfig, RedisLock};
use dlock_zk::{ZkConfig, ZkLock};

/// The parts of a URL before its host and after it.
const URLS: [(&str, &str); 6] = [
    ("etcd://", ""),
    ("mysql://u@", "/d"),
    ("redis://", ""),
    ("redis-sentinel://", "/s"),
    ("redis-cluster://", ""),
    ("zk://", ""),
];

async fn refused_url(url: &str) -> String {
    let line = refused(dlock::connect(url).await);
    let scheme = url.split(':').next().unwrap_or_default();
    let context = format!("cannot connect ({scheme}): ");
    line.strip_prefix(&*context).unwrap_or(&line).to_owned()
}

fn refused<T>(result: dlock::Result<T>) -> String {
    let Err(error) = result else {
        panic!("not refused");
    };
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    error.to_string()
}

#[tokio::test]
async fn in_a_url() {
    for (keys, words) in [
        ("timeout=5ms", "timeout 5ms is out of range (10ms to 1m)"),
        ("timeout=2m", "timeout 2m is out of range (10ms to 1m)"),
        (
            "connect_timeout=9ms",
            "connect_timeout 9ms is out of range (10ms to 1m)",
        ),
        ("ttl=31d", "ttl 31d is out of range (10ms to 30days)"),
        (
            "timeout=5",
            "timeout=5: a time needs a unit, as in 5s or 5ms",
        ),
    ] {
        for (before, after) in URLS {
            let url = format!("{before}h{after}?{keys}");
            assert_eq!(refused_url(&url).await, words, "{url}");
        }
    }
    let prefix = "x".repeat(129);
    for (before, after) in URLS {
        let url = format!("{before}h{after}?prefix={prefix}");
        let words = "a prefix has at most 128 bytes, this one has 129";
        assert_eq!(refused_url(&url).await, words, "{url}");
    }
    let hosts = vec!["h"; 33].join(",");
    for (before, after) in ["etcd://", "redis-cluster://", "zk://"].map(|before| (before, "")) {
        let words = "33 servers are given, allowed are at most 32";
        assert_eq!(refused_url(&format!("{before}{hosts}{after}")).await, words);
    }
    for url in ["etcd:", "redis:", "redis-cluster:", "zk:"] {
        let words = "a server is missing, such as 127.0.0.1";
        assert_eq!(refused_url(url).await, words, "{url}");
    }
    for url in ["etcd://u@h", "zk://u@h"] {
        let words = "a login is a user and a password, one is missing";
        assert_eq!(refused_url(url).await, words, "{url}");
    }
    for url in ["redis://u@h", "redis-sentinel://h/s?sentinel_user=u"] {
        let words = "the user \"u\" has no password; add it, or leave the user out";
        assert_eq!(refused_url(url).await, words, "{url}");
    }
    for url in ["etcds://h", "rediss://h", "zks://h", "mysql://u@h/d"] {
        let words = "tls_cert and tls_key go together, one is missing";
        assert_eq!(refused_url(&format!("{url}?tls_cert=x")).await, words);
    }
}

/// The errors of all backends with servers, with these settings.
macro_rules! refused_by_all {
    ($host:expr $(, $setter:ident($($value:expr),*))*) => {{
        let etcd = EtcdConfig::new([$host])$(.$setter($($value),*))*;
        let zk = ZkConfig::new([$host])$(.$setter($($value),*))*;
        let redis = RedisConfig::new($host)$(.$setter($($value),*))*;
        let sentinel = RedisConfig::sentinel([$host], "s")$(.$setter($($value),*))*;
        let mysql = MySqlConfig::new($host, "u", "d")$(.$setter($($value),*))*;
        [
            refused(EtcdLock::connect(etcd).await),
            refused(ZkLock::connect(zk).await),
            refused(RedisLock::connect(redis).await),
            refused(RedisLock::connect(sentinel).await),
            refused(MySqlLock::connect(mysql).await),
        ]
    }};
}

#[tokio::test]
async fn in_code() {
    let short = Duration::from_millis(5);
    let words = "timeout 5ms is out of range (10ms to 1m)";
    assert_eq!(refused_by_all!("h", timeout(short)), [words; 5]);
    let long = Duration::from_secs(120);
    let words = "connect_timeout 2m is out of range (10ms to 1m)";
    assert_eq!(refused_by_all!("h", connect_timeout(long)), [words; 5]);
    let words = "a prefix has at most 128 bytes, this one has 129";
    assert_eq!(refused_by_all!("h", prefix("x".repeat(129))), [words; 5]);
    let words = "a prefix has no control characters, this one is \"a\\nb\"";
    assert_eq!(refused_by_all!("h", prefix("a\nb")), [words; 5]);
    let words = "a port is a number from 1 to 65535";
    assert_eq!(refused_by_all!("s3cret:x", timeout(short)), [words; 5]);
    let found = refused(FileLock::open(FileConfig::new("/d").prefix("a\nb")));
    let words = "cannot connect (file): a prefix has no control characters, this one is \"a\\nb\"";
    assert_eq!(found, words);
}

#[tokio::test]
async fn files_that_are_not_there() {
    let tls = || Tls::new().ca("/no/such/file");
    let words = "cannot read /no/such/file";
    for error in [
        refused(EtcdLock::connect(EtcdConfig::new(["h"]).tls(tls())).await),
        refused(RedisLock::connect(RedisConfig::new("h").tls(tls())).await),
    ] {
        assert!(error.starts_with(words), "{error}");
    }
}
