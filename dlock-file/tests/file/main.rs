//! The file backend with real files and real processes.

#![expect(clippy::expect_used, reason = "all of it is a test, helpers included")]

mod blocking;
mod directories;
mod endings;
mod jobs;
mod layouts;
mod locking;
mod losses;
#[cfg(target_os = "linux")]
mod no_inotify;
mod processes;
#[cfg(target_os = "linux")]
mod shared;
mod support;
mod worker;

/// Runs the job of a worker process; does nothing in the test run itself.
#[test]
fn worker() {
    if let Some((job, directory)) = worker::job() {
        jobs::run(&job, &directory);
    }
}
