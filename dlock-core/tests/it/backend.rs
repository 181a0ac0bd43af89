//! Backends that misbehave, and what core makes of it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    Capabilities, Clock, Effect, Error, ErrorKind, Expiry, Holder, LockName, Locker, LostCause,
    Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, async_trait},
    memory::Memory,
};

use crate::common::{NAME, Shared, locker, millis, poll_times, secs, until_unused};

/// A flaw of the backend.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    /// Says that the lock is lost while it is still waiting, and waits for the cancellation.
    LosesWhileItWaits,
    /// The acquire is granted 50 ms after the call, even if the caller is gone, and answered 50 ms later.
    AnswersLate,
    PanicsInAcquire,
    PanicsInTheFirstRenewal,
    PanicsInTheFirstRelease,
    NeverReleases,
    /// Releases 50 ms after the call, unless it is closed by then.
    ReleasesLate,
    /// Never gets an answer, and says why.
    IsCutOff,
    /// The acquire is granted. The backend learns no more of that than of the first three tries to undo it.
    HearsNothing,
    Nothing,
}

#[derive(Debug)]
struct Flawed {
    store: Memory,
    flaw: Flaw,
    /// The number of calls to the operation that has the flaw.
    calls: Arc<AtomicUsize>,
    closed: AtomicUsize,
}

impl Flawed {
    fn new(flaw: Flaw, store: Memory) -> Shared<Self> {
        let (calls, closed) = (Arc::default(), AtomicUsize::new(0));
        Shared::new(Self {
            store,
            flaw,
            calls,
            closed,
        })
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn is_first_of(&self, flaw: Flaw) -> bool {
        self.flaw == flaw && self.calls.fetch_add(1, Ordering::SeqCst) == 0
    }
}

#[async_trait]
impl DistributedLock for Flawed {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            expiry: Expiry::Session,
            ..self.store.capabilities()
        }
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        match self.flaw {
            Flaw::LosesWhileItWaits => {
                request.attempt.report_lost(LostCause::SessionEnded);
                request.attempt.cancelled().await;
                self.calls.fetch_add(1, Ordering::SeqCst);
                Err(Error::contended())
            }
            Flaw::AnswersLate => {
                tokio::time::sleep(millis(50)).await;
                let lease = self.store.acquire(request).await;
                tokio::time::sleep(millis(50)).await;
                lease
            }
            Flaw::IsCutOff => {
                let why = Error::new(ErrorKind::Unavailable, "no leader");
                request.attempt.report_unavailable(&why);
                request.attempt.cancelled().await;
                Err(why)
            }
            Flaw::HearsNothing => {
                let lease = Arc::new(self.store.acquire(request).await?);
                let (store, calls) = (self.store.clone(), self.calls.clone());
                let over = request.clock().now().after(request.ttl);
                let undone = request.undo(over, move || {
                    let (store, lease) = (store.clone(), lease.clone());
                    let is_heard = calls.fetch_add(1, Ordering::SeqCst) >= 3;
                    async move {
                        if is_heard {
                            return store.release(&lease).await;
                        }
                        Err(Error::new(ErrorKind::Unavailable, "no answer"))
                    }
                });
                let _ = tokio::time::timeout(millis(10), undone).await;
                let error = Error::new(ErrorKind::Unavailable, "no answer");
                Err(error.with_effect(Effect::Unknown))
            }
            Flaw::PanicsInAcquire => {
                tokio::task::yield_now().await;
                std::panic::resume_unwind(Box::new("a defect of the backend"))
            }
            _ => self.store.acquire(request).await,
        }
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        if self.is_first_of(Flaw::PanicsInTheFirstRenewal) {
            std::panic::resume_unwind(Box::new("a defect of the backend"));
        }
        self.store.renew(lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        if self.is_first_of(Flaw::PanicsInTheFirstRelease) {
            std::panic::resume_unwind(Box::new("a defect of the backend"));
        }
        if self.flaw == Flaw::NeverReleases {
            return Err(Error::new(ErrorKind::Denied, "no"));
        }
        if self.flaw == Flaw::ReleasesLate {
            tokio::time::sleep(millis(50)).await;
        }
        if self.closed.load(Ordering::SeqCst) > 0 {
            return Err(Error::new(ErrorKind::Unavailable, "closed"));
        }
        self.store.release(lease).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.store.inspect(name).await
    }

    async fn close(&self) -> Result<()> {
        self.closed.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

fn flawed(flaw: Flaw) -> (Shared<Flawed>, Locker) {
    let clock = Clock::pausable();
    let backend = Flawed::new(flaw, Memory::with_clock(clock.clone()));
    let locks = backend.builder().ttl(secs(10)).clock(clock).build();
    (backend, locks.expect("locker"))
}

#[tokio::test(start_paused = true)]
async fn a_loss_while_waiting_ends_the_attempt() {
    let (backend, locks) = flawed(Flaw::LosesWhileItWaits);
    let error = locks.acquire(NAME).await.expect_err("lost");
    assert_eq!(error.lost_cause(), Some(LostCause::SessionEnded));
    locks.shutdown(secs(1)).await.expect("nothing hangs");
    assert_eq!(backend.0.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_may_have_had_an_effect() {
    let (backend, locks) = flawed(Flaw::AnswersLate);
    let acquire = locks.acquire(NAME).wait(millis(75));
    let error = acquire.await.expect_err("no answer in time");
    assert_eq!(backend.0.store.names().len(), 1, "granted");
    let outcome = (error.kind(), error.effect());
    assert_eq!(outcome, (ErrorKind::Unavailable, Effect::Unknown));
    until_unused(&backend.0.store).await;
}

#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_ends_with_the_reason() {
    let (_, locks) = flawed(Flaw::IsCutOff);
    let waited = locks.acquire(NAME).wait(millis(75)).await.map(drop);
    let tried = locks.try_acquire(NAME).await.map(drop);
    for ended in [waited, tried] {
        let error = ended.expect_err("no answer");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        let line = error.to_string();
        assert!(line.ends_with("no grant in time: no leader"), "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_after_the_end_of_its_lease_is_no_grant() {
    let (backend, locks) = flawed(Flaw::AnswersLate);
    let acquire = locks.acquire(NAME).ttl(millis(40));
    let error = acquire.await.expect_err("it has ended");
    let outcome = (error.kind(), error.effect());
    assert_eq!(
        outcome,
        (ErrorKind::Unavailable, Effect::Unknown),
        "{error}"
    );
    until_unused(&backend.0.store).await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_grants_that_are_on_their_way() {
    let (backend, locks) = flawed(Flaw::AnswersLate);
    let waiter = tokio::spawn({
        let locks = locks.clone();
        async move { locks.acquire(NAME).await.map(drop) }
    });
    tokio::time::sleep(millis(75)).await;
    assert_eq!(
        backend.0.store.names().len(),
        1,
        "granted, and the answer is on its way"
    );
    locks.shutdown(secs(5)).await.expect("in time");
    assert!(backend.0.store.names().is_empty());
    waiter.await.expect("no panic").expect_err("shut down");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_what_is_undone() {
    let (backend, locks) = flawed(Flaw::HearsNothing);
    let error = locks.try_acquire(NAME).await.expect_err("no answer");
    assert_eq!(error.effect(), Effect::Unknown);
    assert_eq!(backend.0.store.names().len(), 1, "granted");
    locks.shutdown(secs(5)).await.expect("in time");
    assert!(backend.0.store.names().is_empty());
    assert_eq!(backend.0.calls(), 4);
}

/// Also of an acquire that is given up by that.
#[tokio::test(start_paused = true)]
async fn the_end_of_the_last_locker_waits_for_what_is_undone() {
    for is_dropped in [false, true] {
        let (backend, locks) = flawed(Flaw::HearsNothing);
        if is_dropped {
            assert!(
                poll_times(locks.acquire(NAME).into_future(), 1)
                    .await
                    .is_none()
            );
        } else {
            locks.try_acquire(NAME).await.expect_err("no answer");
        }
        drop(locks);
        until_unused(&backend.0.store).await;
        assert_eq!(backend.0.calls(), 4, "dropped: {is_dropped}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_releases_that_are_on_their_way() {
    for is_dropped in [false, true] {
        let (backend, locks) = flawed(Flaw::ReleasesLate);
        let one = locks.acquire(NAME).await.expect("free");
        let all = locks.acquire_all(["a", "b"]).await.expect("free");
        let releases = [
            tokio::spawn(one.release()),
            tokio::spawn(async { all.release().await }),
        ];
        tokio::time::sleep(millis(25)).await;
        if is_dropped {
            releases.iter().for_each(tokio::task::JoinHandle::abort);
        }
        locks.shutdown(secs(5)).await.expect("in time");
        assert!(backend.0.store.names().is_empty(), "dropped: {is_dropped}");
        for release in releases.into_iter().filter(|_| !is_dropped) {
            release.await.expect("no panic").expect("confirmed");
        }
    }
}

/// A guard that is dropped has ended before its release is handed to the background.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_waits_for_guards_that_are_just_dropped() {
    for round in 0..3_000 {
        let backend = Flawed::new(Flaw::Nothing, Memory::new());
        let locks = backend.builder().build().expect("locker");
        let guards = locks.acquire_all(["a", "b", "c"]).await.expect("free");
        let dropping = tokio::task::spawn_blocking(move || drop(guards));
        locks.shutdown(secs(5)).await.expect("in time");
        dropping.await.expect("no panic");
        assert!(backend.0.store.names().is_empty(), "in round {round}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_an_error_like_others() {
    let (_, locks) = flawed(Flaw::PanicsInAcquire);
    let error = locks.acquire(NAME).await.expect_err("a defect");
    assert_eq!(error.kind(), ErrorKind::Internal);

    let (backend, locks) = flawed(Flaw::PanicsInTheFirstRenewal);
    let guard = locks.acquire(NAME).await.expect("free");
    tokio::time::sleep(secs(60)).await;
    assert!(guard.is_held() && backend.0.calls() > 1, "tried again");

    let (backend, locks) = flawed(Flaw::PanicsInTheFirstRelease);
    drop(locks.acquire(NAME).await.expect("free"));
    until_unused(&backend.0.store).await;
    assert_eq!(backend.0.calls(), 2, "tried again");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_released_ends_with_the_session_that_the_last_drop_closes() {
    let (backend, locks) = flawed(Flaw::NeverReleases);
    let guard = locks.acquire(NAME).await.expect("free");
    drop(locks);
    tokio::time::sleep(secs(60)).await;
    assert_eq!(
        backend.0.closed.load(Ordering::SeqCst),
        0,
        "there is a guard"
    );
    drop(guard);
    tokio::time::sleep(secs(60)).await;
    assert_eq!(backend.0.closed.load(Ordering::SeqCst), 1);
    let tasks = tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks();
    assert_eq!(tasks, 0);
}

#[tokio::test]
async fn a_loop_of_acquires_starves_no_task() {
    let locks = locker(Memory::new());
    let spinning = tokio::spawn(async move {
        loop {
            drop(locks.acquire(NAME).await);
        }
    });
    tokio::time::timeout(secs(10), tokio::time::sleep(Duration::from_millis(1)))
        .await
        .expect("a timer fires");
    spinning.abort();
}
