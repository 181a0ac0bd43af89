//! The strict readers: exact messages for what is wrong, and nothing passed over.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use dlock_core::{
    Error, ErrorKind, Result,
    config::{Config, ConnectFuture, Registry, Settings},
    memory::Memory,
};

/// Opens `url` with a backend that reads its settings by `read`; its result, or the error.
async fn open<T: Send + 'static>(
    url: &str,
    read: impl Fn(&mut Settings) -> Result<T> + Send + Sync + 'static,
) -> Result<T> {
    let seen = Arc::new(Mutex::new(None));
    let slot = seen.clone();
    let factory = move |settings: &mut Settings| -> Result<ConnectFuture> {
        *slot.lock().unwrap() = Some(read(settings)?);
        Ok(Box::pin(async { Ok(Box::new(Memory::new()) as _) }))
    };
    let registry = Registry::new().register("probe", factory);
    registry.open(&Config::from_url(url)?).await?;
    let seen = seen.lock().unwrap().take();
    Ok(seen.expect("the factory ran"))
}

fn refused<T>(result: Result<T>) -> String {
    let error: Error = result.err().expect("refused");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    let text = error.to_string();
    text.strip_prefix("cannot connect (probe): ")
        .expect(&text)
        .to_owned()
}

#[tokio::test]
async fn all_kinds_of_values() {
    let url = "probe://u:p@h:1/x?on=true&n=7&t=1m%2030s&s=a%26b&prefix=&tls-password=q";
    let read = |s: &mut Settings| {
        assert_eq!(s.take_user().as_deref(), Some("u"));
        assert_eq!(s.take_password().unwrap().expose(), "p");
        assert_eq!(s.take_hosts()[0].to_string(), "h:1");
        assert_eq!(s.take_path().as_deref(), Some("/x"));
        assert_eq!(s.take_bool("on")?, Some(true));
        assert_eq!(s.take_bool("off")?, None);
        assert_eq!(s.take_u64("n", 1..=7)?, Some(7));
        assert_eq!(
            s.take_duration("t", Duration::ZERO..=Duration::MAX)?
                .unwrap()
                .as_secs(),
            90
        );
        assert_eq!(s.take_str("s")?.as_deref(), Some("a&b"));
        assert_eq!(s.take_prefix()?.as_deref(), Some(""));
        assert_eq!(s.take_secret("tls-password")?.unwrap().expose(), "q");
        assert!(!format!("{s:?}").contains("a&b"));
        Ok(())
    };
    open(url, read).await.unwrap();
}

#[tokio::test]
async fn common_keys() {
    let url = "probe:?ttl=10s&wait=0s&token_base=4611686018427387904";
    let common = open(url, |s| Ok(s.common().clone())).await.unwrap();
    assert_eq!(common.ttl, Some(Duration::from_secs(10)));
    assert_eq!(common.wait, Some(Duration::ZERO));
    assert_eq!(common.token_base, Some(1 << 62));
    let common = open("probe:", |s| Ok(s.common().clone())).await.unwrap();
    assert_eq!(
        (common.ttl, common.wait, common.token_base),
        (None, None, None)
    );
}

#[tokio::test]
async fn bad_values() {
    const TIME: &str = "a time is a number with its unit, as in 10s, 500ms or 1m";
    for (query, message) in [
        (
            "ttl=0",
            "ttl=0: a time needs a unit, as in 0s or 0ms".into(),
        ),
        (
            "ttl=5",
            "ttl=5: a time needs a unit, as in 5s or 5ms".into(),
        ),
        ("ttl=0s", "ttl 0s is out of range (10ms to 30days)".into()),
        ("ttl=31d", "ttl 31d is out of range (10ms to 30days)".into()),
        ("ttl=", format!("ttl=: {TIME}")),
        ("ttl=-1s", format!("ttl=-1s: {TIME}")),
        ("ttl=10parsecs", format!("ttl=10parsecs: {TIME}")),
        (
            "ttl=99999999999999999999999y",
            format!("ttl=99999999999999999999999y: {TIME}"),
        ),
        ("wait=forever", format!("wait=forever: {TIME}")),
        (
            "token_base=4611686018427387905",
            "token_base 4611686018427387905 is out of range (0 to 4611686018427387904)".into(),
        ),
        ("n=8", "n 8 is out of range (1 to 7)".into()),
        (
            "n=%2B7",
            "n=+7: allowed are whole numbers from 1 to 7".into(),
        ),
        ("n=", "n=: allowed are whole numbers from 1 to 7".into()),
        ("on=yes", "on=yes: allowed are true and false".into()),
        ("s=", "s is empty; give it a value or leave it out".into()),
        (
            "my-secret=",
            "my-secret is empty; give it a value or leave it out".into(),
        ),
    ] {
        let read = |s: &mut Settings| {
            s.take_u64("n", 1..=7)?;
            s.take_bool("on")?;
            s.take_str("s")?;
            s.take_secret("my-secret")
        };
        let message: String = message;
        assert_eq!(
            refused(open(&format!("probe:?{query}"), read).await),
            message
        );
    }
}

#[tokio::test]
async fn a_prefix_is_bounded() {
    let read = |s: &mut Settings| s.take_prefix();
    let longest = "x".repeat(Settings::PREFIX_BYTES_MAX);
    assert!(
        open(&format!("probe:?prefix={longest}"), read)
            .await
            .is_ok()
    );
    let error = refused(open(&format!("probe:?prefix={longest}x"), read).await);
    assert_eq!(error, "a prefix has at most 128 bytes, this one has 129");
}

#[tokio::test]
async fn a_ttl_outside_the_bounds_of_the_backend_is_refused_before_it_is_opened() {
    let bounds = Duration::from_secs(1)..=Duration::from_mins(1);
    let read = move |s: &mut Settings| s.check_ttl(bounds.clone());
    assert!(open("probe:?ttl=1s", read.clone()).await.is_ok());
    assert!(open("probe:", read.clone()).await.is_ok());
    let error = refused(open("probe:?ttl=500ms", read).await);
    assert_eq!(error, "ttl 500ms is out of range (1s to 1m)");
}

#[tokio::test]
async fn a_guard_is_no_shorter_than_the_ttl() {
    let max = Duration::from_hours(24);
    let guard = |secs: u64| {
        move |s: &mut Settings| {
            assert_eq!(s.take_restart_guard(max)?, Duration::from_secs(secs));
            Ok(())
        }
    };
    for (keys, secs) in [
        ("", 30),
        ("?ttl=2s", 30),
        ("?ttl=40s", 40),
        ("?ttl=2s&restart_guard=2s", 2),
        ("?restart_guard=0s", 0),
        ("?ttl=40s&restart_guard=1h", 3600),
    ] {
        let opened = open(&format!("probe:{keys}"), guard(secs)).await;
        assert!(opened.is_ok(), "{keys}");
    }
    let read = move |s: &mut Settings| s.take_restart_guard(max).map(drop);
    for keys in ["?restart_guard=20s", "?ttl=40s&restart_guard=30s"] {
        let error = refused(open(&format!("probe:{keys}"), read).await);
        assert!(error.contains("is longer than restart_guard="), "{error}");
    }
}

#[tokio::test]
async fn keys_without_a_reader_are_refused() {
    for (url, message) in [
        (
            "probe:?tll=5s",
            "unknown key \"tll\" (did you mean \"ttl\"?); known keys: connect_wait, on, token_base, ttl, wait",
        ),
        (
            "probe:?lease=5s",
            "unknown key \"lease\"; known keys: connect_wait, on, token_base, ttl, wait",
        ),
        (
            "probe:?prefix=a",
            "unknown key \"prefix\"; known keys: connect_wait, on, token_base, ttl, wait",
        ),
        (
            "probe://h",
            "the URL has a host, which this store has no use for",
        ),
        (
            "probe:/x",
            "the URL has a path, which this store has no use for",
        ),
        (
            "probe://u@h",
            "the URL has a user, which this store has no use for",
        ),
        (
            "probe://:p@h",
            "the URL has a password, which this store has no use for",
        ),
    ] {
        assert_eq!(refused(open(url, |s| s.take_bool("on")).await), message);
    }
}
