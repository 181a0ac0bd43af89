//! The version of a directory's layout: compared when it is opened, and the layout of each version byte for
//! byte.

use std::{collections::BTreeMap, fs, os::unix::fs::symlink, path::Path, sync::Barrier, thread};

use dlock_core::{ErrorKind, Holder, LockName, backend::DistributedLock as _};
use dlock_file::{FileConfig, FileLock};

use crate::support::{directory, locker, open};

fn put(directory: &Path, version: &str) {
    let link = directory.join("layout");
    let _ = fs::remove_file(&link);
    symlink(version, link).expect("linked");
}

fn refused(directory: &Path) -> String {
    let error = FileLock::open(FileConfig::new(directory)).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    error.to_string()
}

#[test]
fn k01_another_layout_is_refused_with_both_numbers() {
    let directory = directory();
    for (version, says) in [
        ("2", "layout 2, and this dlock has layout 1"),
        ("2 since then", "layout 2, and this dlock has layout 1"),
        ("0", "layout 0, and this dlock has layout 1"),
        ("two", "\"two\""),
    ] {
        put(directory.path(), version);
        let error = refused(directory.path());
        assert!(error.contains(says), "{version}: {error}");
    }
    fs::remove_file(directory.path().join("layout")).expect("removed");
    fs::write(directory.path().join("layout"), "1").expect("written");
    assert!(
        refused(directory.path()).contains("version is \"\""),
        "no link"
    );
    put(directory.path(), "1 and more that a later one wrote");
    drop(open(directory.path()));
}

/// A directory that took the place of the one that was opened.
#[tokio::test]
async fn k01_another_layout_is_refused_in_a_directory_that_was_replaced() {
    let outer = directory();
    let inner = outer.path().join("locks");
    let locks = locker(&inner);
    drop(locks.acquire("a").await.expect("free"));
    fs::rename(&inner, outer.path().join("elsewhere")).expect("moved");
    fs::create_dir(&inner).expect("made");
    put(&inner, "2");
    let error = locks.acquire("a").await.expect_err("another layout");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    assert!(error.to_string().contains("layout 2"), "{error}");
}

#[tokio::test]
async fn k01_a_lock_file_of_another_layout_is_refused_and_left_alone() {
    let directory = directory();
    let locks = locker(directory.path());
    let file = directory.path().join("a.lock");
    let theirs = "dlock 2 and who knows what\n";
    fs::write(&file, theirs).expect("written");
    let error = locks.acquire("a").await.expect_err("another layout");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    let says = "layout 2, and this dlock has layout 1";
    assert!(error.to_string().contains(says), "{error}");
    assert_eq!(fs::read_to_string(&file).expect("read"), theirs);
    // Theirs was free all the time, and other names are no concern of it.
    fs::File::open(&file)
        .expect("opened")
        .try_lock()
        .expect("free");
    drop(locks.acquire("b").await.expect("free"));
}

/// Processes from before the record have the same layout, and write no record.
#[tokio::test]
async fn k01_processes_with_and_without_a_record_exclude_each_other() {
    let directory = directory();
    let file = directory.path().join("a.lock");
    let holder = "4f0000000000000000000000000000a1 77 1780000000000000 4711@web-3 checkout 77";
    fs::write(&file, format!("dlock 1 {:020}\na\n{holder}\n", 77)).expect("written");
    let theirs = fs::File::open(&file).expect("opened");
    theirs.lock().expect("free");
    let locks = locker(directory.path());
    assert!(locks.try_acquire("a").await.expect("a reply").is_none());
    let found = locks.inspect("a").await.expect("a reply").expect("held");
    assert_eq!(found, Holder::decode(holder.as_bytes(), None));
    assert!(found.attempt.is_some());
    drop(theirs);
    let guard = locks.acquire("a").await.expect("free");
    assert!(Some(guard.token()) > found.token);
    drop(guard);
}

#[test]
fn k01_many_first_contacts_make_one_record() {
    const PROCESSES: usize = 16;
    for _ in 0..20 {
        let directory = directory();
        let begin = Barrier::new(PROCESSES);
        thread::scope(|scope| {
            for _ in 0..PROCESSES {
                scope.spawn(|| {
                    begin.wait();
                    drop(open(directory.path()));
                });
            }
        });
        let link = fs::read_link(directory.path().join("layout")).expect("a link");
        assert_eq!(link, Path::new("1"));
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 1);
    }
}

/// If this has to change, the number of the layout has to, too.
#[tokio::test]
async fn k01_layout_1_byte_for_byte() {
    let directory = directory();
    let locks = locker(directory.path());
    let long = "a".repeat(255);
    let guard = locks
        .acquire("seat/14C")
        .note("checkout 77")
        .await
        .expect("free");
    let released = locks.acquire(&*long).await.expect("free");
    let (id, token, last) = (guard.id(), guard.token(), released.token());
    released.release().await.expect("held");
    let name = LockName::new("seat/14C").expect("name");
    let holder = open(directory.path())
        .inspect(&name)
        .await
        .expect("a reply")
        .expect("held");
    let (since, pid) = (holder.since_unix_micros.expect("since"), std::process::id());
    let host = holder.host.expect("host");
    let files: BTreeMap<String, String> = fs::read_dir(directory.path())
        .expect("listed")
        .map(|entry| entry.expect("entry"))
        .filter(|entry| entry.file_name() != "layout")
        .map(|entry| {
            let content = fs::read_to_string(entry.path()).expect("read");
            (entry.file_name().into_string().expect("UTF-8"), content)
        })
        .collect();
    let padded = |text: String| format!("{text:\n<1024}");
    let hash = "b0f3323e7a3cad8ae6778340cc2a17ae0cb31c818df3767cda7c3dd423725e90";
    let expected = BTreeMap::from([
        (
            "seat%2F14%43.lock".to_owned(),
            padded(format!(
                "dlock 1 {token:020}\nseat/14C\n{id} {token} {since} {pid}@{host} checkout 77\n"
            )),
        ),
        (
            format!("{}~{hash}.lock", "a".repeat(73)),
            padded(format!("dlock 1 {last:020}\n{long}\n")),
        ),
    ]);
    assert_eq!(files, expected);
    let link = fs::read_link(directory.path().join("layout")).expect("a link");
    assert_eq!(link, Path::new("1"));
    guard.release().await.expect("held");
}
