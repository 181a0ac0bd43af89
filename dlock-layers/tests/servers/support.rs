//! Shared parts of the cases.

use std::{future::Future, time::Duration};

use dlock::Locker;
use dlock_core::Clock;
use dlock_servers::Program;
use dlock_verify::support;

pub(crate) use dlock_servers::redis::Flavour;
pub(crate) use dlock_verify::{
    cases,
    support::{Outcome, SOON, refused, soon, take, taken_over, until, within},
};

/// A ttl that no case lives to see the end of: what is free before was not freed by time.
pub(crate) const TTL_LONG: Duration = Duration::from_secs(120);

/// The time by which a timer may be late on a busy machine. `is_held` needs none, and is never late.
pub(crate) const LATE: Duration = Duration::from_secs(1);

/// The bound of a case: one that hangs is named by its failure.
const CASE_MAX: Duration = Duration::from_secs(60);

pub(crate) fn run<F>(flavour: Flavour, case: impl FnOnce(Program) -> F) -> Outcome
where
    F: Future<Output = Outcome>,
{
    support::run(CASE_MAX, case(flavour.find()?))
}

/// Takes and releases a lock, and returns how long that took.
pub(crate) async fn cycle(locker: &Locker) -> Outcome<Duration> {
    let clock = Clock::boottime();
    let began = clock.now();
    take(locker, "cycle").await?.release().await?;
    Ok(clock.now().since(began))
}
