//! The embedded store, by its URL.

#![cfg(feature = "file")]
#![expect(clippy::expect_used, reason = "a test fails by it")]

use std::{fs, path::Path};

use dlock::ErrorKind;

fn url(directory: &Path) -> String {
    format!("file:{}", directory.to_str().expect("UTF-8"))
}

#[tokio::test]
async fn two_connections_exclude_each_other() {
    let directory = tempfile::tempdir().expect("directory");
    let one = dlock::connect(url(directory.path()))
        .await
        .expect("connect");
    let two = dlock::connect(url(directory.path()))
        .await
        .expect("connect");
    let guard = one.acquire("a").await.expect("acquire");
    assert!(two.try_acquire("a").await.expect("a reply").is_none());
    let token = guard.token();
    guard.release().await.expect("release");
    let guard = two.try_acquire("a").await.expect("a reply").expect("free");
    assert!(guard.token() > token);
}

#[tokio::test]
async fn the_path_is_decoded() {
    let directory = tempfile::tempdir().expect("directory");
    fs::create_dir(directory.path().join("my locks")).expect("directory");
    let url = format!("{}/my%20locks", url(directory.path()));
    let locks = dlock::connect(url).await.expect("connect");
    let _guard = locks.acquire("a").await.expect("acquire");
    let files = fs::read_dir(directory.path().join("my locks")).expect("read");
    assert!(files.count() > 0);
}

#[tokio::test]
async fn locks_of_different_prefixes_are_different_ones() {
    let directory = tempfile::tempdir().expect("directory");
    let url = url(directory.path());
    let plain = dlock::connect(&url).await.expect("connect");
    let app = dlock::connect(format!("{url}?prefix=app/"))
        .await
        .expect("connect");
    let _plain = plain.acquire("a").await.expect("acquire");
    let _app = app
        .try_acquire("a")
        .await
        .expect("a reply")
        .expect("another lock");
    assert!(plain.try_acquire("app/a").await.expect("a reply").is_none());
}

#[tokio::test]
async fn wrong_settings() {
    for (url, message) in [
        (
            "file:locks",
            "\"locks\" is no absolute path: give a directory that starts with a slash, as in \
             file:/var/lock/app",
        ),
        (
            "file://var/lock",
            "the URL has a host, which this store has no use for",
        ),
        (
            "file:/x?tll=1s",
            "unknown key \"tll\" (did you mean \"ttl\"?); known keys: connect_wait, prefix, token_base, ttl, wait",
        ),
    ] {
        let error = dlock::connect(url).await.expect_err(url);
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        assert_eq!(
            error.to_string(),
            format!("cannot connect (file): {message}")
        );
    }
}

#[tokio::test]
async fn a_directory_that_cannot_be_used() {
    let directory = tempfile::tempdir().expect("directory");
    let file = directory.path().join("a-file");
    fs::write(&file, "").expect("write");
    for path in [file.clone(), file.join("below")] {
        let error = dlock::connect(url(&path)).await.expect_err("no directory");
        assert!(error.to_string().contains("a-file"), "{error}");
        assert_eq!(error.operation(), Some("connect"), "{error}");
        assert_eq!(error.backend(), Some("file"), "{error}");
    }
}
