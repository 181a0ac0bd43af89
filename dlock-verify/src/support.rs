//! Shared parts of the tests of one backend under faults: bounds, waiting for a state, and dropping a
//! future half-way.

use std::{
    fmt::Display,
    future::{Future, poll_fn},
    io,
    mem::ManuallyDrop,
    pin::{Pin, pin},
    process::ExitCode,
    task::Poll,
    time::Duration,
};

use dlock_core::{Clock, Error, Guard, Locker, LostCause};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::{runtime::Builder, time::timeout};

pub use crate::availability::{if_available, if_client_available};

/// The result of a case: anything that can be displayed is a reason to fail.
pub type Outcome<T = ()> = Result<T, Failed>;

/// The time within which an expected event happens. It is long enough for a busy machine, and far less than the
/// ttls of 120 s of locks that time shall not free.
pub const SOON: Duration = Duration::from_secs(15);

/// How often a state without notification is polled.
const POLL_EVERY: Duration = Duration::from_millis(10);

/// The beginning of the message of a failure that is late.
const LATE: &str = "not within ";

/// The longest message of an error: a line of a terminal or two.
const MESSAGE_BYTES_MAX: usize = 300;

/// Runs the trials as the arguments of the program say, which are those of every Rust test binary;
/// `threads` at once unless they say otherwise.
#[must_use]
pub fn main(threads: usize, trials: impl IntoIterator<Item = Trial>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(threads);
    libtest_mimic::run(&arguments, trials.into_iter().collect()).exit_code()
}

/// The function `trials`: these cases of a module on one flavour of a server, each named after it.
///
/// The test program's own module `support` has the type `Flavour`, and `run`, which runs a case on one.
#[macro_export]
#[expect(clippy::crate_in_macro_def, reason = "the module of the test program")]
macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        pub(crate) fn trials(flavour: crate::support::Flavour) -> Vec<libtest_mimic::Trial> {
            vec![$(libtest_mimic::Trial::test(
                format!("{}::{}", flavour.name(), stringify!($case)),
                move || crate::support::run(flavour, $case),
            )),*]
        }
    };
}

/// Fails the case with a message unless the condition holds.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err($crate::support::failed(format!($($message)+)));
        }
    };
}

/// The failure with this message.
#[must_use]
pub fn failed(message: String) -> Failed {
    message.into()
}

/// Runs a case in a runtime of its own, at most `max` long: one that hangs is named by its failure.
///
/// # Errors
///
/// Why the case failed.
pub fn run(max: Duration, case: impl Future<Output = Outcome>) -> Outcome {
    let runtime: io::Result<_> = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime?;
    let outcome = runtime.block_on(within(max, "its end", case));
    runtime.shutdown_background();
    outcome?
}

/// The guard of a lock that must be free.
///
/// # Errors
///
/// When it is taken, or the backend fails.
///
/// # Cancel safety
///
/// As [`Locker::try_acquire`].
pub async fn take(locker: &Locker, name: &str) -> Outcome<Guard> {
    let guard = locker.try_acquire(name).await?;
    guard.ok_or_else(|| format!("{name} is taken").into())
}

/// Takes a lock as a process that dies at once: without a release, and with no task that goes on.
///
/// # Errors
///
/// When it cannot connect, or the lock is taken.
pub async fn hold_and_die(
    connect: impl Future<Output = Outcome<Locker>> + Send + 'static,
    name: &'static str,
) -> Outcome {
    let held = tokio::task::spawn_blocking(move || {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let held = runtime.block_on(async {
            let locker = ManuallyDrop::new(connect.await?);
            // A lock that was renewed is in the state of one that is held for long.
            let guard = ManuallyDrop::new(take(&locker, name).await?);
            guard.renew().await?;
            Ok(())
        });
        runtime.shutdown_background();
        held
    });
    held.await?
}

/// The lock of a holder that was cut off at this moment, once `other` has it: after the holder's end, which the holder
/// was notified of, and with a larger token. `ttl` is that of the lock; a timer of a busy machine is late by up to `late`.
///
/// # Errors
///
/// When `other` does not get the lock in time.
///
/// # Panics
///
/// When both call themselves held, or the holder is late.
///
/// # Cancel safety
///
/// As [`Locker::acquire`].
pub async fn taken_over(
    held: &Guard,
    other: &Locker,
    ttl: Duration,
    late: Duration,
) -> Outcome<Guard> {
    let clock = Clock::boottime();
    let cut = clock.now();
    let lost = async {
        let cause = held.lost().await;
        (cause, clock.now().since(cut))
    };
    let over = async {
        tokio::time::sleep(ttl).await;
        held.is_held()
    };
    let granted = async {
        let guard = other.acquire(held.name()).wait_forever().await;
        (guard, held.is_held())
    };
    let all = async { tokio::join!(lost, over, granted) };
    // A renewal that was on its way when it was cut may have been done.
    let bound = 2 * ttl + other.capabilities().takeover_max;
    let ((cause, lost), held_after, (guard, held_twice)) =
        within(bound, "all is known", all).await?;
    assert_eq!(cause, LostCause::Expired);
    assert!(!held_after, "it calls itself held after its ttl");
    assert!(lost <= ttl + late, "notified {lost:?} after the cut");
    assert!(!held_twice, "both call themselves held");
    let guard = guard?;
    assert!(guard.token() > held.token());
    Ok(guard)
}

/// The error that must come, in one short line.
///
/// # Errors
///
/// When there is none.
///
/// # Panics
///
/// When its message is long, or has more than one line.
pub fn refused<T>(result: dlock_core::Result<T>) -> Outcome<Error> {
    let error = result.err().ok_or("it succeeded")?;
    let line = error.to_string();
    assert!(
        !line.contains('\n') && line.len() < MESSAGE_BYTES_MAX,
        "{line}"
    );
    Ok(error)
}

/// Polls until `check` returns true, for at most [`SOON`].
///
/// # Errors
///
/// What was waited for, or why `check` failed.
///
/// # Cancel safety
///
/// That of `check`.
pub async fn until(what: impl Display, mut check: impl AsyncFnMut() -> Outcome<bool>) -> Outcome {
    let polling = async {
        while !check().await? {
            tokio::time::sleep(POLL_EVERY).await;
        }
        Ok(())
    };
    soon(what, polling).await?
}

/// The result of a future that must end within [`SOON`].
///
/// # Errors
///
/// What was waited for.
///
/// # Cancel safety
///
/// That of the future.
pub async fn soon<T>(what: impl Display, future: impl IntoFuture<Output = T>) -> Outcome<T> {
    within(SOON, what, future).await
}

/// The result of a future that must end within `bound`.
///
/// # Errors
///
/// What was waited for.
///
/// # Cancel safety
///
/// That of the future.
pub async fn within<T>(
    bound: Duration,
    what: impl Display,
    future: impl IntoFuture<Output = T>,
) -> Outcome<T> {
    let late = |_| Failed::from(format!("{LATE}{bound:?}: {what}"));
    timeout(bound, future).await.map_err(late)
}

/// Whether the case failed because something did not come [`within`] its bound.
#[must_use]
pub fn is_late(failed: &Failed) -> bool {
    failed.message().is_some_and(|why| why.starts_with(LATE))
}

/// Polls `future` at most `polls` times, each time when something has happened, then drops it; its
/// result if it had ended.
///
/// # Cancel safety
///
/// That of the future.
pub async fn drop_after_polls<T>(future: impl IntoFuture<Output = T>, polls: u32) -> Option<T> {
    poll_times(pin!(future.into_future()), polls).await
}

/// As [`drop_after_polls`], but leaves it where it is.
///
/// # Cancel safety
///
/// That of the future.
pub async fn poll_times<F: Future>(mut future: Pin<&mut F>, polls: u32) -> Option<F::Output> {
    let mut left = polls;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
