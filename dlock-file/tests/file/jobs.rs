//! The jobs of the worker processes.

use std::{fs, path::Path, process::Command, thread, time::Duration};

use dlock_core::{ErrorKind, Locker, backend::DistributedLock, blocking};
use dlock_file::{FileConfig, FileLock};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    support::{blocking_locker, locker, open},
    worker::{say, until_released},
};

/// How often each process of [`count`] counts.
pub(crate) const COUNTS: u64 = 50;

/// The file that they count in.
pub(crate) const COUNTER: &str = "counter";

/// How long the command lives that [`start_a_command`] leaves behind.
const COMMAND_SECONDS: &str = "60";

pub(crate) fn run(job: &str, directory: &Path) {
    if job == "count without a runtime" {
        return count_without_a_runtime(&blocking_locker(directory), directory);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("runtime");
    runtime.block_on(async {
        match job {
            "hold" => hold(&locker(directory)).await,
            "wait" => wait(&locker(directory)).await,
            "churn" => churn(&locker(directory)).await,
            "count" => count(&locker(directory), directory).await,
            "start a command" => start_a_command(&locker(directory)).await,
            "exhaust descriptors" => exhaust_descriptors(directory).await,
            #[cfg(target_os = "linux")]
            "poll" => crate::no_inotify::poll(directory).await,
            "open" => say_how_it_opens(directory),
            "lock" => say_how_it_locks(directory).await,
            unknown => panic!("no job {unknown:?}"),
        }
    });
}

/// Holds `a` until the test releases it.
async fn hold(locks: &Locker) {
    let guard = locks.acquire("a").await.expect("free");
    say(guard.token());
    until_released();
    guard.release().await.expect("released");
    say("released");
}

/// Waits for `a`, holds it for a moment, ends.
async fn wait(locks: &Locker) {
    assert!(locks.try_acquire("a").await.expect("a reply").is_none());
    say("waiting");
    let guard = locks
        .acquire("a")
        .wait_forever()
        .await
        .expect("free at last");
    say(guard.token());
    guard.release().await.expect("released");
}

/// Takes and frees `a` without end, and says each token before it frees it.
async fn churn(locks: &Locker) {
    loop {
        let guard = locks
            .acquire("a")
            .wait_forever()
            .await
            .expect("free at last");
        say(guard.token());
        guard.release().await.expect("released");
    }
}

/// Adds up in a file, in a way that loses counts without a lock.
async fn count(locks: &Locker, directory: &Path) {
    let counter = directory.join(COUNTER);
    for _ in 0..COUNTS {
        let guard = locks
            .acquire("a")
            .wait_forever()
            .await
            .expect("free at last");
        let counted: u64 = fs::read_to_string(&counter)
            .expect("read")
            .parse()
            .expect("number");
        tokio::task::yield_now().await;
        fs::write(&counter, (counted + 1).to_string()).expect("written");
        say(guard.token());
        guard.release().await.expect("released");
    }
}

/// The same from two threads, without a runtime.
fn count_without_a_runtime(locks: &blocking::Locker, directory: &Path) {
    let counter = directory.join(COUNTER);
    let count = || {
        for _ in 0..COUNTS / 2 {
            let guard = locks.acquire("a").wait_forever().lock().expect("granted");
            let counted = fs::read_to_string(&counter).expect("read");
            let counted: u64 = counted.parse().expect("number");
            thread::yield_now();
            fs::write(&counter, (counted + 1).to_string()).expect("written");
            say(guard.token());
            guard.release().expect("released");
        }
    };
    thread::scope(|threads| {
        threads.spawn(count);
        threads.spawn(count);
    });
}

/// Holds `a`, starts a command that lives on, waits to be killed.
async fn start_a_command(locks: &Locker) {
    let _guard = locks.acquire("a").await.expect("free");
    let script = format!("sleep {COMMAND_SECONDS} & echo $!; wait");
    let mut command = Command::new("sh")
        .args(["-c", &script])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("sh");
    let mut line = String::new();
    let out = command.stdout.take().expect("stdout");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("pid");
    say(line.trim());
    command.wait().expect("killed before");
}

/// Runs out of descriptors, says with what error, and that it goes on after a release.
async fn exhaust_descriptors(directory: &Path) {
    const LIMIT: u64 = 64;
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(LIMIT),
            maximum,
        },
    )
    .expect("limit");
    let held_max = open(directory).capabilities().held_max;
    assert_eq!(held_max, Some(48), "a quarter is left to everything else");
    let locks = locker(directory);
    let mut guards = Vec::new();
    let error = loop {
        match locks.try_acquire(format!("name {}", guards.len())).await {
            Ok(guard) => guards.push(guard.expect("free")),
            Err(error) => break error,
        }
    };
    assert!(guards.len() >= 48 && guards.iter().all(dlock_core::Guard::is_held));
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    say(&error);
    guards
        .pop()
        .expect("some")
        .release()
        .await
        .expect("released");
    assert!(
        locks
            .try_acquire("one more")
            .await
            .expect("a reply")
            .is_some()
    );
    say("goes on");
}

fn say_how_it_opens(directory: &Path) {
    match FileLock::open(FileConfig::new(directory)) {
        Ok(_) => say("opened"),
        Err(error) => say(format!("{:?} {error}", error.kind())),
    }
}

async fn say_how_it_locks(directory: &Path) {
    let acquired = locker(directory)
        .acquire("a")
        .wait(Duration::from_millis(100))
        .await;
    match acquired {
        Ok(_) => say("locked"),
        Err(error) => say(format!("{:?} {error}", error.kind())),
    }
}
