//! Polls a future in the calling thread until it ends.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

use tokio::{runtime::Handle, task::coop::unconstrained};

/// Runs `future` in this thread, with the timers and the network of `runtime`, whose own thread drives them.
///
/// Works inside another runtime, in contrast to [`Handle::block_on`], which panics there.
pub(super) fn block_on<T>(runtime: &Handle, future: impl Future<Output = T>) -> T {
    // Within a task of another runtime the budget of that task counts. It is not renewed before the task
    // yields, and this call does not yield.
    let mut future = pin!(unconstrained(future));
    let parker = Arc::new(Parker::new());
    let waker = Waker::from(parker.clone());
    let mut cx = Context::from_waker(&waker);
    loop {
        let poll = {
            let _entered = runtime.enter();
            future.as_mut().poll(&mut cx)
        };
        if let Poll::Ready(output) = poll {
            return output;
        }
        parker.park();
    }
}

/// Parks one thread until it is woken.
struct Parker {
    thread: Thread,
    /// A wake-up since the last return of `park`. The thread's own token does not suffice, as a poll may use it up.
    woken: AtomicBool,
}

impl Parker {
    fn new() -> Self {
        Self {
            thread: thread::current(),
            woken: AtomicBool::new(false),
        }
    }

    fn park(&self) {
        while !self.woken.swap(false, Ordering::AcqRel) {
            thread::park();
        }
    }
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn a_wake_up_from_another_thread_ends_the_wait() {
        let driver = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        let driver = driver.unwrap();
        let (send, received) = tokio::sync::oneshot::channel();
        let waking = thread::spawn(move || send.send(7));
        assert_eq!(block_on(driver.handle(), received), Ok(7));
        waking.join().unwrap().unwrap();
        block_on(driver.handle(), async {
            tokio::time::sleep(Duration::from_millis(1)).await;
        });
    }
}
