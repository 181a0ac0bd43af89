//! K7: an attempt whose caller is gone leaves nothing behind, wherever it was cancelled.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use crate::common::{
    CountingPolls, NAME, SlowReply, locker, millis, paused, poll_times, secs, settle, until_unused,
};
use dlock_core::{ErrorKind, Guard, LostCause, memory::Memory};

#[tokio::test]
async fn dropped_at_each_of_its_own_polls() {
    for contended in [false, true] {
        for polls in 0.. {
            let store = Memory::new();
            let other = locker(store.clone());
            let holder = if contended {
                Some(other.acquire(NAME).await.expect("free"))
            } else {
                None
            };
            let locks = locker(SlowReply(store.clone()));
            let granted = poll_times(async { locks.acquire(NAME).await }, polls).await;
            let done = granted.is_some() || polls == 16;
            drop((granted, holder));
            until_unused(&store).await;
            drop(
                other
                    .try_acquire(NAME)
                    .await
                    .expect("a reply")
                    .expect("free at once"),
            );
            if done {
                break;
            }
        }
    }
}

/// Runs one acquire whose caller's future is dropped at the `k`-th poll of the backend's future;
/// whether there was such a poll.
async fn cancelled_at_backend_poll(k: usize, contended: bool) -> bool {
    let store = Memory::new();
    let other = locker(store.clone());
    let mut holder = if contended {
        Some(other.acquire(NAME).await.expect("free"))
    } else {
        None
    };
    let reached = Arc::new(AtomicBool::new(false));
    let hook = reached.clone();
    let locks = locker(CountingPolls::new(SlowReply(store.clone()), move |poll| {
        if poll == k {
            hook.store(true, Ordering::SeqCst);
        }
    }));
    let mut acquire = Box::pin(async { locks.acquire(NAME).await });
    let mut granted: Option<Guard> = None;
    for _ in 0..16 {
        if reached.load(Ordering::SeqCst) {
            break;
        }
        let poll = acquire
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(result) = poll {
            granted = Some(result.expect("granted"));
            break;
        }
        // The second poll of the backend is the one after the holder left.
        holder = None;
        settle().await;
    }
    drop(acquire);
    drop((granted, holder));
    until_unused(&store).await;
    drop(
        other
            .try_acquire(NAME)
            .await
            .expect("a reply")
            .expect("free at once"),
    );
    reached.load(Ordering::SeqCst)
}

#[tokio::test]
async fn cancelled_at_each_poll_of_the_backend() {
    for contended in [false, true] {
        let mut polls = 0;
        while cancelled_at_backend_poll(polls, contended).await {
            polls += 1;
        }
        assert!(
            polls >= if contended { 2 } else { 1 },
            "{polls} polls, contended: {contended}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_grant_and_a_time_out_in_one_millisecond() {
    for late in 0..=2 {
        let (_, store, locks) = paused();
        let holder = locks.acquire(NAME).await.expect("free");
        let waiter = tokio::spawn({
            let locks = locks.clone();
            async move { locks.acquire(NAME).wait(millis(100)).await }
        });
        settle().await;
        tokio::time::sleep(millis(99 + late)).await;
        drop(holder);
        match waiter.await.expect("no panic") {
            Ok(guard) => assert!(guard.is_held(), "a guard that was never held"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Contended),
        }
        until_unused(&store).await;
    }
}

#[tokio::test]
async fn a_loss_before_the_grant_is_an_error() {
    let store = Memory::new();
    let polled = Arc::new(AtomicUsize::new(0));
    let locks = locker(LosesBeforeGrant {
        inner: store.clone(),
        polled: polled.clone(),
    });
    let error = locks.acquire(NAME).await.expect_err("lost");
    assert_eq!(error.kind(), ErrorKind::Lost);
    assert_eq!(error.lost_cause(), Some(LostCause::SessionEnded));
    until_unused(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_thousand_random_drops() {
    let store = Memory::new();
    let locks = locker(SlowReply(store.clone()));
    let tasks = (0..3_000_u64).map(|i| {
        let locks = locks.clone();
        tokio::spawn(async move {
            let acquire = async { locks.acquire(format!("n{}", i % 7)).await };
            let pause = std::time::Duration::from_micros(i * 7 % 900);
            let _ = tokio::time::timeout(pause, acquire).await;
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("no panic");
    }
    until_unused(&store).await;
    locks.shutdown(secs(5)).await.expect("shut down");
}

/// Says that the lock is lost between the store's grant and the return.
#[derive(Debug)]
struct LosesBeforeGrant {
    inner: Memory,
    polled: Arc<AtomicUsize>,
}

#[dlock_core::backend::async_trait]
impl dlock_core::backend::DistributedLock for LosesBeforeGrant {
    fn capabilities(&self) -> dlock_core::Capabilities {
        self.inner.capabilities()
    }

    async fn acquire(
        &self,
        request: &dlock_core::backend::AcquireRequest,
    ) -> dlock_core::Result<dlock_core::backend::Lease> {
        let lease = self.inner.acquire(request).await?;
        request.attempt.report_lost(LostCause::SessionEnded);
        self.polled.fetch_add(1, Ordering::SeqCst);
        Ok(lease)
    }

    async fn renew(
        &self,
        lease: &dlock_core::backend::Lease,
    ) -> dlock_core::Result<dlock_core::backend::Renewed> {
        self.inner.renew(lease).await
    }

    async fn release(&self, lease: &dlock_core::backend::Lease) -> dlock_core::Result<()> {
        self.inner.release(lease).await
    }

    async fn inspect(
        &self,
        name: &dlock_core::LockName,
    ) -> dlock_core::Result<Option<dlock_core::Holder>> {
        self.inner.inspect(name).await
    }

    async fn close(&self) -> dlock_core::Result<()> {
        self.inner.close().await
    }
}
