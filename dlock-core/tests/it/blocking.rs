//! Locks without a runtime: the same promises, kept by the locker's own thread.

use std::{
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use dlock_core::{
    Clock, Error, ErrorKind, LostCause, Result,
    backend::DistributedLock,
    blocking::{Acquire, Guard, GuardSet, LAST_DROP_MAX, Locker},
    memory::{Fault, Memory, Operation},
};
use tokio::runtime::Builder;

use crate::common::{NAME, OnRenew, millis, secs};

/// Far more than anything here takes; only a hang reaches it.
const SOON: Duration = Duration::from_secs(5);

fn locker(backend: impl DistributedLock) -> Locker {
    Locker::builder(backend).build().expect("locker")
}

#[test]
fn threads_exclude_each_other() -> Result<()> {
    const THREADS: u32 = 8;
    const ROUNDS: u32 = 50;
    let locks = locker(Memory::new());
    // Loses counts if two threads are between its load and its store.
    let counter = AtomicU32::new(0);
    let count = || -> Result<()> {
        for _ in 0..ROUNDS {
            let guard = locks.acquire(NAME).lock()?;
            let counted = counter.load(Ordering::Relaxed);
            thread::yield_now();
            counter.store(counted + 1, Ordering::Relaxed);
            guard.release()?;
        }
        Ok(())
    };
    thread::scope(|threads| {
        let counting: Vec<_> = (0..THREADS).map(|_| threads.spawn(count)).collect();
        counting
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    assert_eq!(counter.into_inner(), THREADS * ROUNDS);
    Ok(())
}

#[test]
fn k03_renewals_go_on_while_the_program_computes() -> Result<()> {
    /// One renewal comes after each third of it.
    const TTL: Duration = Duration::from_secs(1);
    const RENEWALS: usize = 3;
    let (renewing, renewed) = mpsc::channel();
    let store = OnRenew(Memory::new(), move |_: &_| {
        let _ = renewing.send(());
    });
    let (clock, locks) = (Clock::boottime(), locker(store));
    let guard = locks.acquire(NAME).ttl(TTL).lock()?;
    let deadline = clock.now().after(TTL);
    // The guard keeps the thread, too.
    drop(locks);
    let mut renewals = 0;
    while clock.now() <= deadline || renewals < RENEWALS {
        assert!(guard.is_held(), "lost after {renewals} renewals");
        renewals += renewed.try_iter().count();
    }
    assert!(guard.is_held());
    guard.release()
}

#[test]
fn k08_a_busy_thread_sees_the_end_by_its_deadline() -> Result<()> {
    const TTL: Duration = Duration::from_millis(150);
    let (clock, locks) = (Clock::boottime(), locker(Memory::new()));
    let guard = locks.acquire(NAME).ttl(TTL).no_renewal().lock()?;
    let deadline = clock.now().after(TTL);
    loop {
        let now = clock.now();
        if !guard.is_held() {
            break;
        }
        assert!(now <= deadline);
    }
    assert!(guard.check().expect_err("lost").is_lost());
    assert_eq!(guard.wait_lost(SOON), Some(LostCause::Expired));
    assert_eq!(guard.remaining(), Duration::ZERO);
    Ok(())
}

#[test]
fn k08_a_loss_wakes_the_observer() -> Result<()> {
    let store = Memory::new();
    let locks = locker(store.clone());
    let guard = locks.acquire(NAME).lock()?;
    assert_eq!(guard.wait_lost(Duration::ZERO), None);
    assert_eq!(guard.wait_expires_within(millis(1), Duration::ZERO), None);
    let cause = thread::scope(|threads| {
        let observer = threads.spawn(|| guard.wait_lost(Duration::MAX));
        store.revoke(NAME);
        observer.join().expect("no panic")
    });
    assert_eq!(cause, Some(LostCause::Removed));
    let left = guard.wait_expires_within(secs(1), Duration::MAX);
    assert_eq!(left, Some(Duration::ZERO));
    assert!(guard.release().expect_err("lost").is_lost());
    Ok(())
}

#[test]
fn k04_the_last_drop_waits_for_the_release() -> Result<()> {
    let store = Memory::new();
    for _ in 0..50 {
        let locks = locker(store.clone());
        let guard = locks.acquire(NAME).lock()?;
        drop(locks);
        assert!(guard.is_held(), "it outlives its locker");
        drop(guard);
        assert!(store.names().is_empty(), "free before the drop returns");
    }
    Ok(())
}

#[test]
fn k04_the_last_drop_waits_for_a_release_that_fails_at_first() -> Result<()> {
    let store = Memory::new();
    let locks = locker(store.clone());
    let guard = locks.acquire(NAME).lock()?;
    store.inject_once(Operation::Release, Fault::LoseRequest);
    // A guard that is not the last handle goes without waiting.
    drop(guard);
    drop(locks);
    assert!(store.names().is_empty());
    Ok(())
}

#[test]
fn k04_the_last_drop_waits_for_no_longer_than_its_bound() -> Result<()> {
    let (clock, store) = (Clock::boottime(), Memory::new());
    let guard = locker(store.clone()).acquire(NAME).lock()?;
    store.inject(Operation::Release, Fault::Stall);
    let since = clock.now();
    drop(guard);
    let took = clock.now().since(since);
    assert!(
        took >= LAST_DROP_MAX && took < 2 * LAST_DROP_MAX,
        "{took:?}"
    );
    Ok(())
}

#[test]
fn an_acquire_is_a_handle_too() -> Result<()> {
    let store = Memory::new();
    let locks = locker(store.clone());
    let acquire = locks.acquire(NAME);
    drop(locks);
    let guard = acquire.lock()?;
    assert!(guard.is_held());
    guard.release()?;
    assert!(store.names().is_empty());
    Ok(())
}

#[test]
fn a_scope_releases_by_value_error_and_panic() -> Result<()> {
    let store = Memory::new();
    let locks = locker(store.clone());
    let token = locks.scope(NAME, |guard| Ok::<_, Error>(guard.token()))?;
    assert!(store.names().is_empty());
    let failed = locks.scope(NAME, |guard| {
        assert!(guard.token() > token);
        Err::<(), _>(Error::new(ErrorKind::Internal, "the body failed"))
    });
    assert_eq!(failed.expect_err("failed").kind(), ErrorKind::Internal);
    assert!(store.names().is_empty());
    let body = |_: &Guard| -> Result<()> { resume_unwind(Box::new("the body panicked")) };
    assert!(catch_unwind(AssertUnwindSafe(|| locks.scope(NAME, body))).is_err());
    locks.acquire(NAME).wait(SOON).lock()?.release()
}

#[test]
fn a_scope_reports_a_loss() {
    let store = Memory::new();
    let locks = locker(store.clone());
    let ended = locks.scope(NAME, |_| {
        store.revoke(NAME);
        Ok::<_, Error>(())
    });
    assert!(ended.expect_err("lost").is_lost());
}

#[test]
fn all_or_none() -> Result<()> {
    let store = Memory::new();
    let locks = locker(store.clone());
    let held = locks.try_acquire("b").lock()?.expect("free");
    let taken = locks.acquire_all(["a", "b"]).wait(millis(1)).lock();
    assert!(taken.expect_err("taken").is_contended());
    held.release()?;
    let guards = locks.acquire_all(["b", "a", "b"]).wait(SOON).lock()?;
    let names: Vec<_> = guards.iter().map(|guard| guard.name().as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(guards.is_held() && guards.wait_lost(Duration::ZERO).is_none());
    guards.release()?;
    assert!(store.names().is_empty());
    Ok(())
}

#[test]
fn as_many_as_are_needed_are_enough() -> Result<()> {
    let store = Memory::new();
    let locks = locker(store.clone());
    let _held = locks.try_acquire("b").lock()?.expect("free");
    let guards = locks.acquire_all(["a", "b", "c"]).need(2).lock()?;
    assert!(guards.is_held() && guards.check().is_ok());
    store.revoke("c");
    let (name, cause) = guards.wait_lost(SOON).expect("lost");
    assert_eq!((name.as_str(), cause), ("c", LostCause::Removed));
    assert!(!guards.is_held() && guards.check().is_err());
    assert!(guards.release().is_err());
    Ok(())
}

#[test]
fn options_reach_the_store() -> Result<()> {
    let locks = Locker::builder(Memory::new())
        .ttl(secs(9))
        .wait(Duration::ZERO);
    let locks = locks.token_base(1_000).build()?;
    let guard = locks.acquire(NAME).note("checkout 77").shared().lock()?;
    assert!(guard.token().get() > 1_000 && guard.remaining() <= secs(9));
    let second = locks.try_acquire(NAME).shared().ttl(secs(2)).lock()?;
    assert!(second.expect("shared").remaining() <= secs(2));
    let holder = locks.inspect(NAME)?.expect("held");
    assert_eq!(holder.note.as_deref(), Some("checkout 77"));
    let error = locks.acquire(NAME).lock().expect_err("taken");
    assert!(error.is_contended());
    let error = locks.acquire("two\nlines").lock().expect_err("a bad name");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    Ok(())
}

#[test]
fn a_shutdown_ends_a_wait_in_another_thread() -> Result<()> {
    let locks = locker(Memory::new());
    let guard = locks.acquire(NAME).lock()?;
    thread::scope(|threads| {
        let waiting = threads.spawn(|| locks.acquire(NAME).wait_forever().lock());
        locks.shutdown(SOON)?;
        let error = waiting.join().expect("no panic").expect_err("shut down");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert_eq!(guard.wait_lost(SOON), Some(LostCause::Closed));
        locks.shutdown(SOON)
    })
}

#[test]
fn a_failed_connection_leaves_no_thread_to_wait_for() {
    let (clock, since) = (Clock::boottime(), Clock::boottime().now());
    let refused = || async { Err(Error::new(ErrorKind::Denied, "wrong password")) };
    let error = Locker::from_future(refused()).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Denied);
    let panicking = || Locker::from_future(async { resume_unwind(Box::new("a defect")) });
    assert!(catch_unwind(panicking).is_err());
    assert!(clock.now().since(since) < LAST_DROP_MAX);
}

/// More than the budget that tokio gives a task before it has to yield.
const CALLS: u32 = 500;

fn use_blocking_locks() -> Result<()> {
    let locks = locker(Memory::new());
    for _ in 0..CALLS {
        locks.acquire(NAME).lock()?.release()?;
    }
    let _held = locks.acquire(NAME).lock()?;
    let taken = locks.acquire(NAME).wait(millis(1)).lock();
    assert!(taken.expect_err("taken").is_contended());
    // The last handles go inside the runtime, too.
    Ok(())
}

#[test]
fn it_works_inside_a_runtime() -> Result<()> {
    let single = Builder::new_current_thread().enable_all().build();
    let single = single.expect("runtime");
    single.block_on(async { use_blocking_locks() })?;
    let mut multi = Builder::new_multi_thread();
    let multi = multi.worker_threads(1).enable_all().build();
    let multi = multi.expect("runtime");
    multi.block_on(async {
        let task = tokio::spawn(async { use_blocking_locks() });
        task.await.expect("no panic")?;
        let blocking = tokio::task::spawn_blocking(use_blocking_locks);
        blocking.await.expect("no panic")
    })
}

#[test]
fn handles_can_be_sent_and_shared() {
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<Locker>();
    is_shared::<Guard>();
    is_shared::<GuardSet>();
    fn is_sent<T: Send + 'static>() {}
    is_sent::<Acquire>();
}

/// Ends with its thread: the guard is released by a call, or else dropped.
struct OfThread {
    guard: Option<Guard>,
    released: mpsc::Sender<Result<()>>,
}

impl Drop for OfThread {
    fn drop(&mut self) {
        let released = self.guard.take().map_or(Ok(()), Guard::release);
        let _ = self.released.send(released);
    }
}

thread_local! {
    static OF_THREAD: RefCell<Option<OfThread>> = const { RefCell::new(None) };
}

#[test]
fn k04_a_call_in_the_destructor_of_a_thread_local_fails_and_releases() -> Result<()> {
    let locks = locker(Memory::new());
    let acquire = locks.acquire(NAME);
    let (released, is_released) = mpsc::channel();
    let thread = thread::spawn(move || -> Result<()> {
        // Before the first call: the destructor then runs after those of the runtime's thread-locals.
        OF_THREAD.with_borrow_mut(|of_thread| {
            *of_thread = Some(OfThread {
                guard: None,
                released,
            });
        });
        let guard = acquire.lock()?;
        OF_THREAD.with_borrow_mut(|of_thread| {
            of_thread.as_mut().expect("set before").guard = Some(guard);
        });
        Ok(())
    });
    thread.join().expect("no panic")?;
    let error = is_released.recv().expect("sent").expect_err("no call");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    locks.acquire(NAME).wait(SOON).lock().map(drop)
}
