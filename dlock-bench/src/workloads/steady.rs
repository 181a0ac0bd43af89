//! Cycles that arrive by a clock and not when the one before is done. So a stall counts for all that were due in it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use dlock_core::{BootInstant, Clock, Error, ErrorKind, LockName, Result};
use rand::{RngExt as _, SeedableRng as _, rngs::Xoshiro256PlusPlus};
use tokio::{sync::Semaphore, task::JoinSet, time::timeout};

use crate::{data::Steady, stats::Durations, store::Store};

/// How many tasks serve the arrivals, each on a name of its own.
const TASKS: u32 = 64;

/// How long the tasks may take after the last arrival.
const DRAIN_MAX: Duration = Duration::from_secs(5);

/// How many cycles arrive at most: a bound on memory.
const ARRIVALS_MAX: usize = 2_000_000;

/// Measures arrivals at the rate `per_second` for `run_for`.
///
/// # Errors
///
/// The errors of the store.
///
/// # Cancel safety
///
/// Dropping the future ends the tasks and the clock's thread.
pub(crate) async fn steady(
    store: &Store,
    per_second: f64,
    run_for: Duration,
    seed: u64,
) -> Result<Steady> {
    let clock = Clock::boottime();
    let begin = clock.now().after(Duration::from_millis(100));
    let arrivals = Arc::new(Arrivals {
        due: poisson(per_second, run_for, seed)
            .map(|after| begin.after(after))
            .collect(),
        ready: Semaphore::new(0),
        next: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
    });
    let _over = Over(arrivals.clone());
    let mut tasks = JoinSet::new();
    for name in store.names.many("steady", TASKS) {
        let name = LockName::new(&name)?;
        tasks.spawn(serve(arrivals.clone(), store.locks.clone(), name));
    }
    let clocked = arrivals.clone();
    let thread = thread::Builder::new().name("arrivals".to_owned());
    let started = thread.spawn(move || clocked.keep_time());
    started.map_err(|error| {
        Error::new(ErrorKind::Internal, "cannot start a thread").with_source(error)
    })?;
    let mut durations = Durations::new();
    let end = begin.after(run_for).after(DRAIN_MAX);
    let (mut served, mut count) = (timeout(end.since(clock.now()), tasks.join_next()).await, 0);
    while let Ok(Some(task)) = served {
        for duration in task.map_err(crate::tasks::defect)?? {
            durations.record(duration);
            count += 1;
        }
        served = timeout(end.since(clock.now()), tasks.join_next()).await;
    }
    let unserved = arrivals.due.len() - count;
    // They took that long at least.
    for due in &arrivals.due[count.min(arrivals.due.len())..] {
        durations.record(clock.now().since(*due));
    }
    let nothing = || Error::new(ErrorKind::Unavailable, "no cycle was due in the time given");
    Ok(Steady {
        tasks: TASKS,
        arrivals_per_second: per_second,
        latency: durations.latency().ok_or_else(nothing)?,
        unserved: unserved as u64,
    })
}

/// The moments of the arrivals.
struct Arrivals {
    due: Vec<BootInstant>,
    /// How many are due and not served.
    ready: Semaphore,
    /// The next one that is served.
    next: AtomicUsize,
    is_over: AtomicBool,
}

/// Ends the clock's thread with the measurement.
struct Over(Arc<Arrivals>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

impl Arrivals {
    /// Reports each arrival when it is due. A thread sleeps to about 0.1 ms, a runtime to a millisecond.
    fn keep_time(&self) {
        let clock = Clock::boottime();
        for due in &self.due {
            thread::sleep(due.since(clock.now()));
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            self.ready.add_permits(1);
        }
        // Nothing more comes: the tasks find the end of the list.
        self.ready.add_permits(TASKS as usize);
    }
}

/// Serves arrivals until the last, and returns how long each took from when it was due.
async fn serve(
    arrivals: Arc<Arrivals>,
    locks: dlock_core::Locker,
    name: LockName,
) -> Result<Vec<Duration>> {
    let clock = Clock::boottime();
    let mut durations = Vec::new();
    while let Ok(permit) = arrivals.ready.acquire().await {
        permit.forget();
        let next = arrivals.next.fetch_add(1, Ordering::Relaxed);
        let Some(due) = arrivals.due.get(next) else {
            break;
        };
        locks.acquire(&name).await?.release().await?;
        durations.push(clock.now().since(*due));
    }
    Ok(durations)
}

/// Moments of a Poisson process.
fn poisson(per_second: f64, run_for: Duration, seed: u64) -> impl Iterator<Item = Duration> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut at = 0.0;
    let moments = std::iter::from_fn(move || {
        // In (0, 1], so that its logarithm is finite.
        let uniform: f64 = 1.0 - random.random::<f64>();
        at -= uniform.ln() / per_second;
        Duration::try_from_secs_f64(at).ok()
    });
    moments
        .take_while(move |moment| *moment < run_for)
        .take(ARRIVALS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_poisson() {
        let moments: Vec<f64> = poisson(1_000.0, Duration::from_secs(20), 3)
            .map(|moment| moment.as_secs_f64())
            .collect();
        // 20,000 with a standard deviation of 141.
        assert!(
            (19_300..20_700).contains(&moments.len()),
            "{}",
            moments.len()
        );
        let gaps: Vec<f64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // An exponential gap is longer than its mean with the probability 1/e.
        let long = gaps.iter().filter(|gap| **gap > 0.001).count() * 1_000 / gaps.len();
        assert!((350..386).contains(&long), "{long} of 1000");
        let same: Vec<_> = poisson(1_000.0, Duration::from_secs(20), 3).collect();
        assert_eq!(same.len(), moments.len());
    }

    #[test]
    fn no_rate_has_no_arrivals() {
        assert_eq!(poisson(0.0, Duration::from_secs(1), 1).count(), 0);
    }
}
