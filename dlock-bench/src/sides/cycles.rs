//! Tasks that repeat a cycle, each on a name of its own.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use dlock_core::{BootInstant, Clock, LockName, Locker, Result, backend::async_trait};
use dlock_raw::baseline::Cycle;
use tokio::task::JoinSet;

use super::runner::{Runner, Sample};
use crate::tasks::defect;

/// The part of a slice that runs before it begins to count: its cycles begin all at once. A cycle at least.
const LEAD_IN: u32 = 10;

/// A slice is at least so many cycles long, and at most this.
const CYCLES_MIN: u32 = 4;
const WINDOW_MAX: Duration = Duration::from_secs(1);

/// How many cycles a slice has at most, of all tasks: it ends before its time then. It bounds the durations in memory,
/// and the names that are used once and not yet removed.
const CYCLES_MAX: u64 = 50_000;

/// Tasks side by side.
pub(crate) struct Cycling(Vec<Box<dyn Cycle>>);

impl Cycling {
    pub(crate) fn new(tasks: impl IntoIterator<Item = Box<dyn Cycle>>) -> Self {
        Self(tasks.into_iter().collect())
    }

    /// dlock's own cycles, one task for each name.
    ///
    /// # Errors
    ///
    /// When a name is wrong.
    pub(crate) fn locked(locks: &Locker, names: &[String]) -> Result<Self> {
        let tasks = names.iter().map(|name| {
            let (locks, name) = (locks.clone(), LockName::new(name)?);
            Ok(Box::new(Locked { locks, name }) as Box<dyn Cycle>)
        });
        Ok(Self(tasks.collect::<Result<_>>()?))
    }
}

struct Locked {
    locks: Locker,
    name: LockName,
}

#[async_trait]
impl Cycle for Locked {
    async fn cycle(&mut self) -> Result<()> {
        self.locks.acquire(&self.name).await?.release().await
    }
}

#[async_trait]
impl Runner for Cycling {
    async fn slice(&mut self, window: Duration, cycle: Duration) -> Result<Sample> {
        let clock = Clock::boottime();
        let window = window.max(cycle * CYCLES_MIN).min(WINDOW_MAX);
        let lead_in = (window / LEAD_IN).max(cycle).min(WINDOW_MAX);
        let counts_from = clock.now().after(lead_in);
        let tasks = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        let part = Part {
            counts_from,
            end: Arc::new(AtomicU64::new(counts_from.after(window).as_nanos())),
            cycles_max: CYCLES_MAX / u64::from(tasks.max(1)),
        };
        let mut running = JoinSet::new();
        for task in self.0.drain(..) {
            running.spawn(one_task(task, clock.clone(), part.clone()));
        }
        let mut sample = Sample {
            tasks,
            ..Sample::default()
        };
        while let Some(task) = running.join_next().await {
            let (task, its) = task.map_err(defect)??;
            sample.durations.extend(its.durations);
            sample.all += its.all;
            self.0.push(task);
        }
        sample.window = part.end().since(counts_from);
        Ok(sample)
    }
}

/// The part of the time that counts.
#[derive(Clone)]
struct Part {
    counts_from: BootInstant,
    /// In nanoseconds of the clock. The first task that has no more cycles moves it forward, for all.
    end: Arc<AtomicU64>,
    cycles_max: u64,
}

impl Part {
    fn end(&self) -> BootInstant {
        BootInstant::from_nanos(self.end.load(Ordering::Relaxed))
    }

    fn end_at(&self, now: BootInstant) {
        self.end.fetch_min(now.as_nanos(), Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Cycled {
    durations: Vec<Duration>,
    all: u64,
}

async fn one_task(
    mut task: Box<dyn Cycle>,
    clock: Clock,
    part: Part,
) -> Result<(Box<dyn Cycle>, Cycled)> {
    let mut cycled = Cycled::default();
    let mut before = clock.now();
    loop {
        task.cycle().await?;
        let after = clock.now();
        cycled.all += 1;
        if (part.counts_from..part.end()).contains(&after) {
            cycled.durations.push(after.since(before));
        }
        if cycled.all >= part.cycles_max {
            part.end_at(after);
        }
        if after >= part.end() {
            return Ok((task, cycled));
        }
        before = after;
        // A cycle that never waits would keep the other tasks from running.
        tokio::task::coop::consume_budget().await;
    }
}

#[cfg(test)]
mod tests {
    use dlock_core::{Error, ErrorKind};

    use super::*;

    /// A cycle that takes a fixed time.
    struct Takes(Duration);

    #[async_trait]
    impl Cycle for Takes {
        async fn cycle(&mut self) -> Result<()> {
            std::thread::sleep(self.0);
            Ok(())
        }
    }

    struct Fails;

    #[async_trait]
    impl Cycle for Fails {
        async fn cycle(&mut self) -> Result<()> {
            Err(Error::new(ErrorKind::Unavailable, "gone"))
        }
    }

    #[tokio::test]
    async fn only_what_ends_within_the_slice_counts() {
        let mut side = Cycling::new([Box::new(Takes(Duration::from_millis(30))) as Box<dyn Cycle>]);
        let sample = side
            .slice(Duration::from_millis(100), Duration::ZERO)
            .await
            .expect("a slice");
        // The last cycle ends after the slice, however slow the machine is.
        assert!(sample.all > sample.durations.len() as u64, "{sample:?}");
        assert!(sample.durations.len() <= 3, "{sample:?}");
        assert_eq!(sample.took(), sample.durations.iter().sum());
    }

    #[tokio::test]
    async fn a_slice_is_longer_than_some_cycles() {
        let cycle = Duration::from_millis(20);
        let mut side = Cycling::new([Box::new(Takes(cycle)) as Box<dyn Cycle>]);
        let sample = side.slice(Duration::from_millis(1), cycle).await;
        assert_eq!(sample.expect("a slice").window, cycle * CYCLES_MIN);
    }

    #[tokio::test]
    async fn a_slice_has_a_bound_of_cycles() {
        let tasks = (0..8).map(|_| Box::new(Takes(Duration::ZERO)) as Box<dyn Cycle>);
        let mut side = Cycling::new(tasks);
        let sample = side.slice(WINDOW_MAX, Duration::ZERO).await;
        let sample = sample.expect("a slice");
        assert!(sample.all <= CYCLES_MAX, "{}", sample.all);
    }

    #[tokio::test]
    async fn an_error_ends_the_slice() {
        let mut side = Cycling::new([Box::new(Fails) as Box<dyn Cycle>]);
        let error = side.slice(Duration::from_millis(10), Duration::ZERO).await;
        assert_eq!(error.expect_err("an error").kind(), ErrorKind::Unavailable);
    }
}
