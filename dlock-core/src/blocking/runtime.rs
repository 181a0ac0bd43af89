//! The thread of a blocking locker, and the runtime that it drives.

use std::{
    fmt,
    future::Future,
    io, mem,
    pin::Pin,
    process,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
};

use super::block_on::block_on;
use crate::base::{
    error::{Error, ErrorKind, Result},
    lock::Lock,
};

/// The longest time for which dropping the last handle of a blocking locker blocks: 5 s.
///
/// A lock whose release the store has not confirmed by then ends by its ttl or with its session, at the latest.
pub const LAST_DROP_MAX: Duration = Duration::from_secs(5);

type Ended = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A runtime on a thread of its own. Each handle of the locker has a reference; dropping the last one waits for
/// the end of the thread.
pub(super) struct Runtime {
    handle: Handle,
    /// The process that has the thread.
    process: u32,
    /// Closed when the thread has ended.
    ended: Lock<mpsc::Receiver<()>>,
}

/// A runtime that ends unless it is given a locker.
pub(super) struct Starting {
    /// The first field: dropped before the runtime, whose drop waits for the thread.
    keep: oneshot::Sender<Ended>,
    pub(super) runtime: Arc<Runtime>,
}

impl Runtime {
    /// Starts the thread.
    pub(super) fn start() -> Result<Starting> {
        let (started, starting) = mpsc::sync_channel(1);
        let (keep, kept) = oneshot::channel();
        let (running, ended) = mpsc::channel();
        let drive = move || {
            drive(&started, kept);
            drop(running);
        };
        let thread = thread::Builder::new().name(THREAD.to_owned());
        let failed = |error: io::Error| {
            let why = "the locker's thread cannot be started";
            Error::new(ErrorKind::Unavailable, why).with_source(error)
        };
        thread.spawn(drive).map_err(failed)?;
        let handle = starting
            .recv()
            .unwrap_or_else(|gone| Err(io::Error::other(gone)));
        let runtime = Arc::new(Self {
            handle: handle.map_err(failed)?,
            process: process::id(),
            ended: Lock::new(ended),
        });
        Ok(Starting { keep, runtime })
    }

    /// Runs `future` in the calling thread.
    ///
    /// # Errors
    ///
    /// Those of `future`. Also `Unavailable` in the child of a fork, which does not have the thread. `Unsupported` in
    /// the thread itself, which would wait for itself, and in a thread that has destroyed its thread-locals.
    pub(super) fn block_on<T>(&self, future: impl Future<Output = Result<T>>) -> Result<T> {
        if !self.is_of_this_process() {
            // As a handle, which it may have.
            mem::forget(future);
            let why = "a locker does not survive a fork: connect in the child";
            return Err(Error::new(ErrorKind::Unavailable, why));
        }
        if self.is_current() {
            let why = "a blocking call inside the locker's own runtime would wait for itself";
            return Err(Error::new(ErrorKind::Unsupported, why));
        }
        // The runtime would panic there, and a panic in the destructor of a thread-local ends the process.
        if Handle::try_current().is_err_and(|error| error.is_thread_local_destroyed()) {
            let why = "a blocking call is not possible any more in a thread that ends";
            return Err(Error::new(ErrorKind::Unsupported, why));
        }
        block_on(&self.handle, future)
    }

    /// Whether the process has the thread: not so in the child of a fork.
    pub(super) fn is_of_this_process(&self) -> bool {
        self.process == process::id()
    }

    /// As if it were the parent's.
    #[cfg(test)]
    pub(super) fn move_to_child(&mut self) {
        self.process += 1;
    }

    fn is_current(&self) -> bool {
        Handle::try_current().is_ok_and(|here| here.id() == self.handle.id())
    }
}

/// The name of the thread, as debuggers show it.
const THREAD: &str = "dlock";

/// The work of the thread: drives a runtime until its locker has ended, or until there will be none.
fn drive(started: &mpsc::SyncSender<io::Result<Handle>>, kept: oneshot::Receiver<Ended>) {
    // One thread: a locker waits for its store, and does not compute.
    let mut builder = Builder::new_current_thread();
    match builder.thread_name(THREAD).enable_all().build() {
        Ok(runtime) => {
            let _ = started.send(Ok(runtime.handle().clone()));
            runtime.block_on(async {
                if let Ok(locker_ended) = kept.await {
                    locker_ended.await;
                }
            });
            // The locker is closed, so no task is left to wait for.
            runtime.shutdown_background();
        }
        Err(error) => {
            let _ = started.send(Err(error));
        }
    }
}

impl Starting {
    /// Keeps the thread until `locker_ended`.
    pub(super) fn keep_until(
        self,
        locker_ended: impl Future<Output = ()> + Send + 'static,
    ) -> Arc<Runtime> {
        let Self { runtime, keep } = self;
        // The thread waits for it.
        let _ = keep.send(Box::pin(locker_ended));
        runtime
    }
}

impl Drop for Runtime {
    /// Waits for the releases: after the last handle the process may end at once.
    fn drop(&mut self) {
        if self.is_of_this_process() && !self.is_current() {
            let _ = self.ended.lock().recv_timeout(LAST_DROP_MAX);
        }
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> Arc<Runtime> {
        let starting = Runtime::start().unwrap();
        starting.keep_until(std::future::pending())
    }

    #[test]
    fn a_child_of_a_fork_is_refused_and_does_not_wait() {
        let mut runtime = kept();
        Arc::get_mut(&mut runtime).unwrap().move_to_child();
        let error = runtime.block_on(std::future::pending::<Result<()>>());
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("fork"), "{error}");
        let (dropped, is_dropped) = mpsc::channel();
        thread::spawn(move || {
            drop(runtime);
            dropped.send(())
        });
        assert!(is_dropped.recv_timeout(LAST_DROP_MAX / 2).is_ok());
    }

    #[test]
    fn a_call_in_its_own_thread_is_refused_and_does_not_wait() {
        let runtime = kept();
        let handle = runtime.handle.clone();
        let (ended, has_ended) = mpsc::channel();
        handle.spawn(async move {
            let error = runtime.block_on(std::future::pending::<Result<()>>());
            drop(runtime);
            ended.send(error.unwrap_err().kind())
        });
        let kind = has_ended.recv_timeout(LAST_DROP_MAX / 2);
        assert_eq!(kind, Ok(ErrorKind::Unsupported));
    }

    #[test]
    fn a_thread_without_a_locker_ends() {
        let starting = Runtime::start().unwrap();
        let Starting { keep, runtime } = starting;
        drop(keep);
        let ended = runtime.ended.lock().recv_timeout(LAST_DROP_MAX);
        assert_eq!(ended, Err(mpsc::RecvTimeoutError::Disconnected));
    }
}
