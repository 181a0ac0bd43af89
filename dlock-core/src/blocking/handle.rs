//! A handle of a locker: that of the client, and the runtime in which it works.

use std::{fmt, mem, ops::Deref, sync::Arc};

use super::runtime::Runtime;

/// A client's handle, which is dropped before its reference to the runtime. The drop of the last one waits for the
/// releases.
///
/// The child of a fork leaks both. Their drops would send to a thread that is not there. They could also wait for ever
/// for a mutex that a thread of the parent had at the fork.
pub(super) struct Handle<T> {
    /// `None` only after [`into_parts`](Self::into_parts), which consumes the handle.
    inner: Option<T>,
    runtime: Arc<Runtime>,
}

impl<T> Handle<T> {
    pub(super) fn new(inner: T, runtime: Arc<Runtime>) -> Self {
        let inner = Some(inner);
        Self { inner, runtime }
    }

    pub(super) fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// The client's handle, to be dropped before the runtime.
    pub(super) fn into_parts(mut self) -> (T, Arc<Runtime>) {
        let runtime = self.runtime.clone();
        let Some(inner) = self.inner.take() else {
            unreachable!("only this takes it")
        };
        (inner, runtime)
    }

    /// The handle with another one of the client.
    pub(super) fn map(mut self, change: impl FnOnce(T) -> T) -> Self {
        self.inner = self.inner.take().map(change);
        self
    }
}

impl<T: Clone> Clone for Handle<T> {
    fn clone(&self) -> Self {
        Self::new((**self).clone(), self.runtime.clone())
    }
}

impl<T> Deref for Handle<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let Some(inner) = &self.inner else {
            unreachable!("it is taken when the handle is consumed")
        };
        inner
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        if !self.runtime.is_of_this_process() {
            mem::forget(self.inner.take());
            mem::forget(self.runtime.clone());
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread, time::Duration};

    use super::*;
    use crate::{
        base::cause::LostCause,
        blocking::{Guard, Locker},
        memory::Memory,
    };

    #[test]
    fn the_child_of_a_fork_releases_nothing() {
        let locks = Locker::builder(Memory::new()).build().unwrap();
        let (locks, mut runtime) = locks.locker.into_parts();
        let [dropped, released] = ["dropped", "released"].map(|name| {
            let acquire = locks.acquire(name).into_future();
            runtime.block_on(acquire).unwrap()
        });
        let holds = [dropped.hold().clone(), released.hold().clone()];
        Arc::get_mut(&mut runtime).unwrap().move_to_child();
        drop(Handle::new(dropped, runtime.clone()));
        runtime.block_on(released.release()).unwrap_err();
        assert!(holds.iter().all(|hold| hold.is_held()));
    }

    #[test]
    fn the_child_of_a_fork_reports_no_loss() {
        const TTL: Duration = Duration::from_millis(50);
        let locks = Locker::builder(Memory::new()).build().unwrap();
        let (locks, mut runtime) = locks.locker.into_parts();
        let acquire = locks.acquire("a").ttl(TTL).no_renewal().into_future();
        let guard = runtime.block_on(acquire).unwrap();
        let hold = guard.hold().clone();
        // The parent's thread would report it, too.
        let (_go_on, stopped) = mpsc::channel::<()>();
        let stop = async {
            tokio::spawn(async move { stopped.recv() });
            Ok(())
        };
        runtime.block_on(stop).unwrap();
        Arc::get_mut(&mut runtime).unwrap().move_to_child();
        let guard = Guard::new(guard, runtime);
        while guard.is_held() {
            thread::yield_now();
        }
        let lost = guard.check().unwrap_err().lost_cause();
        assert_eq!(lost, Some(LostCause::Expired));
        assert_eq!(hold.shared.scheduler.close().len(), 1);
    }
}
