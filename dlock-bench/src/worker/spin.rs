//! A process that keeps the cores from sleeping.
//!
//! A core that sleeps takes long to wake up, and longer in a virtual machine. With one request at a time client and
//! server sleep in turns, and a measurement would be of that. Threads of the scheduling class `SCHED_IDLE` run only
//! where a core has nothing else to do, and give way at once.

use std::{
    hint,
    io::{self, Write as _},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use dlock_core::{Clock, Error, ErrorKind, Result};

use super::protocol::{Reply, Request};

/// How often a thread spins between two reads of the clock: some microseconds.
const SPINS: u32 = 100;

/// Keeps all cores from sleeping when standard input says so, until its end.
///
/// # Errors
///
/// `Internal` when a pipe is closed. That the system refuses the scheduling class is sent as an answer instead.
///
/// # Blocking
///
/// Until the end of standard input.
pub fn spin() -> Result<()> {
    let until = Arc::new(AtomicU64::new(0));
    let threads = match start(&until) {
        Ok(threads) => threads,
        Err(why) => return print(&Reply::Failed(why)),
    };
    print(&Reply::Connected)?;
    for line in io::stdin().lines() {
        let request = serde_json::from_str(&line.map_err(failed)?);
        let Request::Spin { millis } = request.map_err(io::Error::other).map_err(failed)? else {
            return Err(failed(io::Error::other("another request")));
        };
        let end = Clock::boottime().now().after(Duration::from_millis(millis));
        until.store(end.as_nanos(), Ordering::Relaxed);
        threads.iter().for_each(|thread| thread.thread().unpark());
        print(&Reply::Spinning)?;
    }
    // The threads end with the process.
    Ok(())
}

/// Starts a thread for each core; why that is not possible.
fn start(until: &Arc<AtomicU64>) -> Result<Vec<JoinHandle<()>>, String> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = (0..cores).map(|_| {
        let until = until.clone();
        let thread = thread::Builder::new().spawn(move || spin_until(&until));
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        // Not by the thread itself: on a busy machine its answer would be late.
        class::make_idle(&thread)?;
        Ok(thread)
    });
    threads.collect()
}

/// Spins as long as there is an end in the future. Between its turns it may rest for long, so it has nothing that another
/// thread waits for.
fn spin_until(until: &AtomicU64) {
    let clock = Clock::boottime();
    loop {
        while clock.now().as_nanos() < until.load(Ordering::Relaxed) {
            (0..SPINS).for_each(|_| hint::spin_loop());
        }
        thread::park();
    }
}

#[cfg(target_os = "linux")]
mod class {
    use std::{os::unix::thread::JoinHandleExt as _, thread::JoinHandle};

    use thread_priority::{
        NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
        set_thread_priority_and_policy,
    };

    /// Moves a thread to the class `SCHED_IDLE`.
    pub(super) fn make_idle(thread: &JoinHandle<()>) -> Result<(), String> {
        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        let id = thread.as_pthread_t();
        let set = set_thread_priority_and_policy(id, ThreadPriority::Min, idle);
        set.map_err(|error| format!("the system refuses the class SCHED_IDLE: {error}"))
    }
}

#[cfg(not(target_os = "linux"))]
mod class {
    use std::thread::JoinHandle;

    pub(super) fn make_idle(_: &JoinHandle<()>) -> Result<(), String> {
        Err("this system has no class SCHED_IDLE".to_owned())
    }
}

fn print(reply: &Reply) -> Result<()> {
    let line = serde_json::to_string(reply).map_err(io::Error::other);
    let line = line.map_err(failed)? + "\n";
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(line.as_bytes());
    written.and_then(|()| stdout.flush()).map_err(failed)
}

fn failed(error: io::Error) -> Error {
    Error::new(ErrorKind::Internal, "the run is gone").with_source(error)
}
