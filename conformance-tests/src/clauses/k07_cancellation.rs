//! K7: dropping the future of an acquire at any await leaves nothing held or queued.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    Guard, LockName, Locker, Result,
    backend::{AcquireRequest, DistributedLock, Lease},
};
use dlock_verify::{ensure, support::Outcome};
use rand::RngExt;
use tokio::sync::Notify;

use crate::case::{Case, CaseContext, case, interpose::Interpose};

/// An acquire that needs more polls than this never ends.
const POLLS_MAX: usize = 500;

/// The time until the holder releases.
const RELEASE_AFTER: Duration = Duration::from_millis(20);

/// Attempts that are dropped at random times.
const RANDOM_DROPS: usize = 200;

/// A wait that ends by itself.
const SHORT_WAIT: Duration = Duration::from_millis(50);

/// How often a release and a time-out race.
const ROUNDS: usize = 50;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(at_each_poll_of_the_backend).on_one_thread().heavy(),
        case!(at_each_poll_of_the_backend_that_waits)
            .on_one_thread()
            .heavy(),
        case!(at_each_poll_of_the_caller).on_one_thread().heavy(),
        case!(at_each_poll_of_the_caller_that_waits)
            .on_one_thread()
            .heavy(),
        case!(at_random_times),
        case!(a_grant_and_a_time_out_at_once),
        case!(one_who_leaves_does_not_block_those_behind).of_size(4, 3),
        case!(while_the_lock_stays_taken),
    ]
}

/// Signals a given poll of the backend's future.
///
/// A reply of that poll is returned by the next one only: the caller is dropped in between.
struct SignalAtPoll {
    at: usize,
    polls: AtomicUsize,
    reached: Notify,
}

impl SignalAtPoll {
    fn new(at: usize) -> Arc<Self> {
        Arc::new(Self {
            at,
            polls: AtomicUsize::new(0),
            reached: Notify::new(),
        })
    }
}

#[async_trait]
impl Interpose for SignalAtPoll {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        let mut acquire = pin!(inner.acquire(request));
        let mut answer = None;
        poll_fn(|cx| {
            if let Some(answer) = answer.take() {
                return Poll::Ready(answer);
            }
            let poll = acquire.as_mut().poll(cx);
            if self.polls.fetch_add(1, Ordering::SeqCst) + 1 != self.at {
                return poll;
            }
            self.reached.notify_one();
            if let Poll::Ready(ready) = poll {
                answer = Some(ready);
                cx.waker().wake_by_ref();
            }
            Poll::Pending
        })
        .await
    }
}

/// The future whose polls are counted.
#[derive(Clone, Copy)]
enum Polled {
    Backend,
    Caller,
}

/// The lock that is acquired.
#[derive(Clone, Copy)]
enum Lock {
    Free,
    Taken,
}

impl Lock {
    /// The guard of another client, if the lock is taken.
    async fn holder(self, context: &CaseContext, name: &LockName) -> Outcome<Option<Guard>> {
        match self {
            Self::Free => Ok(None),
            Self::Taken => Ok(Some(context.take(name, Duration::ZERO).await?)),
        }
    }
}

async fn at_each_poll_of_the_backend(context: &CaseContext) -> Outcome {
    at_each_poll(context, Polled::Backend, Lock::Free).await
}

async fn at_each_poll_of_the_backend_that_waits(context: &CaseContext) -> Outcome {
    at_each_poll(context, Polled::Backend, Lock::Taken).await
}

async fn at_each_poll_of_the_caller(context: &CaseContext) -> Outcome {
    at_each_poll(context, Polled::Caller, Lock::Free).await
}

async fn at_each_poll_of_the_caller_that_waits(context: &CaseContext) -> Outcome {
    at_each_poll(context, Polled::Caller, Lock::Taken).await
}

/// Drops an acquire after one poll more each time, until it is done before that.
async fn at_each_poll(context: &CaseContext, polled: Polled, lock: Lock) -> Outcome {
    for polls in 0..POLLS_MAX {
        let is_done = match polled {
            Polled::Backend => cancel_backend(context, polls + 1, lock).await?,
            Polled::Caller => cancel_caller(context, polls, lock).await?,
        };
        if is_done {
            return Ok(());
        }
    }
    Err("the acquire never ends".into())
}

/// Drops an acquire when the backend's future has been polled `at` times; whether it was done before.
async fn cancel_backend(context: &CaseContext, at: usize, lock: Lock) -> Outcome<bool> {
    let (name, signal) = (context.name("cancelled")?, SignalAtPoll::new(at));
    let locker = context.locker_over(&signal).await?;
    let mut holder = lock.holder(context, &name).await?;
    let guard = {
        let mut acquire = locker.acquire(&name).wait_forever().into_future();
        loop {
            tokio::select! {
                biased;
                guard = &mut acquire => break Some(guard?),
                () = signal.reached.notified() => break None,
                () = tokio::time::sleep(RELEASE_AFTER), if holder.is_some() => drop(holder.take()),
            }
        }
    };
    after_cancel(context, &locker, &name, holder, guard).await
}

/// Drops an acquire after `polls` polls of its own; whether it was done by then.
async fn cancel_caller(context: &CaseContext, mut polls: usize, lock: Lock) -> Outcome<bool> {
    let (name, locker) = (context.name("cancelled")?, context.locker().await?);
    let mut holder = lock.holder(context, &name).await?;
    let guard = {
        let mut acquire = locker.acquire(&name).wait_forever().into_future();
        loop {
            tokio::select! {
                biased;
                guard = polled(&mut acquire, &mut polls) => break guard.transpose()?,
                () = tokio::time::sleep(RELEASE_AFTER), if holder.is_some() => drop(holder.take()),
            }
        }
    };
    after_cancel(context, &locker, &name, holder, guard).await
}

/// The output of `future` if it comes within `left` polls, which are used up.
async fn polled<F: Future + Unpin>(future: &mut F, left: &mut usize) -> Option<F::Output> {
    poll_fn(|cx| {
        if *left == 0 {
            return Poll::Ready(None);
        }
        *left -= 1;
        match Pin::new(&mut *future).poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if *left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Fails if a dropped acquire left a hold; whether it had returned a guard instead.
async fn after_cancel(
    context: &CaseContext,
    locker: &Locker,
    name: &LockName,
    holder: Option<Guard>,
    guard: Option<Guard>,
) -> Outcome<bool> {
    let granted = guard.is_some();
    drop((holder, guard));
    // The ttl is long, so the lock has not expired; the same locker must acquire it, too.
    context.expect_free_soon(name).await?;
    context
        .soon("the same client's turn", locker.acquire(name))
        .await??
        .release()
        .await?;
    Ok(granted)
}

async fn at_random_times(context: &CaseContext) -> Outcome {
    let (name, locker) = (context.name("random")?, context.locker().await?);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..context.times(RANDOM_DROPS) {
        let acquire = locker.acquire(&name).wait_forever();
        let client_timeout = Duration::from_micros(rand::rng().random_range(0..20_000));
        tasks.spawn(async move {
            if let Ok(guard) = tokio::time::timeout(client_timeout, acquire).await {
                drop(guard?);
            }
            Ok::<_, dlock_core::Error>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    context.expect_free_soon(&name).await
}

/// The wait times out at the moment of the release, so that timeout and grant race.
async fn a_grant_and_a_time_out_at_once(context: &CaseContext) -> Outcome {
    let (name, locker) = (context.name("at-once")?, context.locker().await?);
    let wait = Duration::from_millis(10);
    let rounds = u64::try_from(context.times(ROUNDS))?;
    for round in 0..rounds {
        let holder = context.take(&name, Duration::ZERO).await?;
        // From a little before to a little after it.
        let release_at =
            wait - Duration::from_micros(1_500) + Duration::from_micros(3_000 * round / rounds);
        let releasing = async {
            tokio::time::sleep(release_at).await;
            holder.release().await
        };
        let (waited, released) = tokio::join!(locker.acquire(&name).wait(wait), releasing);
        released?;
        if let Ok(guard) = waited {
            ensure!(guard.is_held(), "a guard that is not held");
            context.expect_taken(&name).await?;
            guard.release().await?;
        }
        context.expect_free_soon(&name).await?;
    }
    Ok(())
}

async fn one_who_leaves_does_not_block_those_behind(context: &CaseContext) -> Outcome {
    let name = context.name("behind")?;
    let holder = context.take(&name, Duration::ZERO).await?;
    let leaving = context.spawn_waiter(&name).await?;
    tokio::time::sleep(RELEASE_AFTER).await;
    let behind = context.spawn_waiter(&name).await?;
    tokio::time::sleep(RELEASE_AFTER).await;
    leaving.abort();
    holder.release().await?;
    let guard = context
        .soon("the turn of the one behind", behind)
        .await???;
    Ok(guard.release().await?)
}

/// The lock does not become free, so only the cancellation can end the attempt.
async fn while_the_lock_stays_taken(context: &CaseContext) -> Outcome {
    let (name, locker) = (context.name("stays")?, context.locker().await?);
    let holder = context.take(&name, Duration::ZERO).await?;
    let waited = locker.acquire(&name).wait(SHORT_WAIT).await;
    ensure!(waited.is_err(), "granted beside {holder:?}");
    // It waits for the attempt.
    locker.shutdown(context.tolerance()).await?;
    ensure!(holder.is_held(), "lost by the end of a waiter");
    Ok(holder.release().await?)
}
