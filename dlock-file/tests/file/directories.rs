//! Directories that cannot be used: each has an error of its own, with what to do.

use std::{
    fs,
    os::unix::fs::{MetadataExt, chown, symlink},
    path::Path,
};

use dlock_core::{Error, ErrorKind};
use dlock_file::{FileConfig, FileLock};
use tempfile::TempDir;

use crate::{
    support::{OTHER_USER, binary_for_other_users, chmod, directory, locker, open, soon},
    worker::Worker,
};

fn refused(path: &Path) -> Error {
    let error = FileLock::open(FileConfig::new(path)).expect_err("refused");
    assert_eq!(
        (error.operation(), error.backend()),
        (Some("connect"), Some("file"))
    );
    assert!(!error.to_string().contains('\n'));
    error
}

/// Checks kind and line of the error; `{path}` in the line is replaced by the path.
fn assert_refused(path: &Path, kind: ErrorKind, line: &str) {
    let error = refused(path);
    let line = format!("cannot connect (file): {line}").replace("{path}", &path.to_string_lossy());
    assert_eq!((error.kind(), error.to_string()), (kind, line));
}

#[test]
fn a_missing_directory_is_made_for_its_owner_alone() {
    let outer = directory();
    let inner = outer.path().join("locks");
    drop(open(&inner));
    assert_eq!(fs::metadata(&inner).expect("made").mode() & 0o777, 0o700);
    drop(open(&inner));
}

#[test]
fn a_missing_parent_is_not_made() {
    let outer = directory();
    let line = "{path}: the directory that it is to be made in is not there; make that first: \
                No such file or directory (os error 2)";
    assert_refused(
        &outer.path().join("mistyped/locks"),
        ErrorKind::InvalidConfig,
        line,
    );
    assert_eq!(fs::read_dir(outer.path()).expect("listed").count(), 0);
}

#[test]
fn a_file_is_no_directory() {
    let outer = directory();
    let path = outer.path().join("file");
    fs::write(&path, "").expect("written");
    let line = "{path}: this is no directory; choose another one: Not a directory (os error 20)";
    assert_refused(&path, ErrorKind::InvalidConfig, line);
}

#[test]
fn a_directory_that_others_write_to_is_refused() {
    let outer = directory();
    for mode in [0o777, 0o770, 0o702] {
        chmod(outer.path(), mode);
        let line = format!(
            "{{path}}: others may write there (mode {mode:o}) and could take locks away; \
             chmod go-w it"
        );
        assert_refused(outer.path(), ErrorKind::Denied, &line);
    }
    chmod(outer.path(), 0o1777);
    let line = "{path}: all users may write there; choose a directory of your own inside it";
    assert_refused(outer.path(), ErrorKind::Denied, line);
    chmod(outer.path(), 0o755);
    drop(open(outer.path()));
}

#[test]
fn another_user_s_directory_and_an_unwritable_one_are_refused() {
    let outer = directory();
    let root = rustix::process::geteuid().is_root();
    // Root may write anywhere, so as root the worker is another user.
    let binary = binary_for_other_users(outer.path());
    let locks = outer.path().join("locks");
    fs::create_dir(&locks).expect("made");
    let user = root.then_some(OTHER_USER);
    let run = |job| Worker::start_as(job, &locks, &binary, user).hear();
    if root {
        let said = run("open");
        assert!(
            said.starts_with("Denied") && said.contains("belongs to user 0"),
            "{said}"
        );
        chown(&locks, user, None).expect("chown");
    }
    assert_eq!(run("open"), "opened");
    chmod(&locks, 0o500);
    let said = run("open");
    assert!(
        said.starts_with("Denied") && said.contains("not allowed; run as"),
        "{said}"
    );
    chmod(&locks, 0o700);
    // Another user's file in our directory: left by a run as root.
    fs::write(locks.join("a.lock"), "").expect("written");
    chmod(&locks.join("a.lock"), if root { 0o600 } else { 0o000 });
    let said = run("lock");
    assert!(
        said.starts_with("Denied") && said.contains("a.lock: not allowed"),
        "{said}"
    );
}

#[tokio::test]
async fn a_lock_file_that_is_no_plain_file_is_refused() {
    let outer = directory();
    let elsewhere = outer.path().join("elsewhere");
    fs::write(&elsewhere, "precious").expect("written");
    let inner: TempDir = directory();
    symlink(&elsewhere, inner.path().join("link.lock")).expect("linked");
    fs::create_dir(inner.path().join("directory.lock")).expect("made");
    let fifo = std::process::Command::new("mkfifo")
        .arg(inner.path().join("pipe.lock"))
        .status();
    assert!(fifo.expect("mkfifo").success());
    let locks = locker(inner.path());
    for name in ["link", "directory", "pipe"] {
        let error = soon(locks.acquire(name).into_future())
            .await
            .expect_err(name);
        assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
        assert!(
            error.to_string().contains("remove what is there"),
            "{error}"
        );
    }
    assert_eq!(fs::read_to_string(elsewhere).expect("read"), "precious");
}

#[tokio::test]
async fn files_are_their_owner_s_alone() {
    let directory = directory();
    let locks = locker(directory.path());
    drop(locks.acquire("a").await.expect("free"));
    let metadata = fs::metadata(directory.path().join("a.lock")).expect("made");
    assert_eq!(metadata.mode() & 0o777, 0o600);
}

#[test]
fn running_out_of_descriptors_is_an_error_that_passes() {
    let directory = directory();
    let mut worker = Worker::start("exhaust descriptors", directory.path());
    let said = worker.hear();
    assert!(
        said.contains("too many open files; raise its limit (ulimit -n)"),
        "{said}"
    );
    assert_eq!(worker.hear(), "goes on");
}
