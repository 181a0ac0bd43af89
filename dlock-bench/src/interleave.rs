//! dlock and what it is compared with, in turns.
//!
//! A machine is never as quiet as one wishes, and not for long. So each runs for a short slice, then the other,
//! and the ratio is the median of all rounds. A disturbance of some rounds does not count.

use std::time::Duration;

use dlock_core::{Error, ErrorKind, Result};

use crate::{
    Summary,
    baselines::Server,
    measure::Durations,
    slice::{self, Slice, Tasks},
};

/// The longest slice: it bounds the durations in memory, too.
const SLICE_MAX: Duration = Duration::from_millis(100);

/// Into how many slices a run is cut at least.
const SLICES_MIN: u32 = 10;

/// One side of a comparison: its tasks, and their results so far.
pub(crate) struct Contender {
    tasks: Tasks,
    durations: Durations,
    took: Duration,
    /// The processor time that the server used; `None` when it does not report it.
    server_cpu: Option<Duration>,
}

impl Contender {
    pub(crate) fn new(tasks: Tasks) -> Self {
        Self {
            tasks,
            durations: Durations::new(),
            took: Duration::ZERO,
            server_cpu: Some(Duration::ZERO),
        }
    }

    /// # Errors
    ///
    /// `Unavailable` when nothing was done.
    pub(crate) fn sum_up(&self) -> Result<Summary> {
        let nothing = || Error::new(ErrorKind::Unavailable, "no cycle ended in the time given");
        let summary = self.durations.sum_up(self.took).ok_or_else(nothing)?;
        Ok(summary.with_server_cpu(self.server_cpu))
    }

    async fn slice(&mut self, server: Option<&dyn Server>, run_for: Duration) -> Result<f64> {
        let before = cpu_time(server).await?;
        let slice = slice::run(&mut self.tasks, run_for).await?;
        let after = cpu_time(server).await?;
        self.add(&slice);
        // A server that was restarted in between counts from zero.
        let spent = after
            .zip(before)
            .and_then(|(after, before)| after.checked_sub(before));
        self.server_cpu = self.server_cpu.zip(spent).map(|(all, one)| all + one);
        Ok(slice.rate())
    }

    fn add(&mut self, slice: &Slice) {
        for duration in &slice.durations {
            self.durations.record(*duration);
        }
        self.took += slice.took;
    }
}

async fn cpu_time(server: Option<&dyn Server>) -> Result<Option<Duration>> {
    match server {
        Some(server) => server.cpu_time().await,
        None => Ok(None),
    }
}

/// Runs one side for `run_for`, after a tenth of it as warm-up.
pub(crate) async fn alone(side: &mut Contender, run_for: Duration) -> Result<()> {
    slice::run(&mut side.tasks, run_for / 10).await?;
    while side.took < run_for {
        side.slice(None, slice_of(run_for)).await?;
    }
    Ok(())
}

/// Runs all sides in turns, each for `run_for` after a tenth of it as warm-up. Gives the rate of `one` as a part
/// of each other's: first quartile, median and third quartile of the rounds.
pub(crate) async fn in_turns(
    one: &mut Contender,
    others: &mut [Contender],
    server: Option<&dyn Server>,
    run_for: Duration,
) -> Result<Vec<[f64; 3]>> {
    slice::run(&mut one.tasks, run_for / 10).await?;
    for other in &mut *others {
        slice::run(&mut other.tasks, run_for / 10).await?;
    }
    let mut ratios = vec![Vec::new(); others.len()];
    while one.took < run_for || others.iter().any(|other| other.took < run_for) {
        let rate = one.slice(server, slice_of(run_for)).await?;
        for (other, ratios) in others.iter_mut().zip(&mut ratios) {
            ratios.push(rate / other.slice(server, slice_of(run_for)).await?);
        }
    }
    Ok(ratios.into_iter().map(quartiles).collect())
}

fn slice_of(run_for: Duration) -> Duration {
    SLICE_MAX.min(run_for / SLICES_MIN)
}

/// Zeros of nothing.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|part| {
        let at = values.len() * part / 4;
        values.get(at).copied().unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use dlock_core::backend::async_trait;

    use super::*;
    use crate::workload::Cycle;

    /// A task whose cycles take this long.
    struct Waits(Duration);

    #[async_trait]
    impl Cycle for Waits {
        async fn cycle(&mut self) -> Result<()> {
            std::thread::sleep(self.0);
            Ok(())
        }
    }

    /// A server whose processor works for a millisecond between two readings.
    #[derive(Default)]
    struct Busy(std::sync::atomic::AtomicU64);

    #[async_trait]
    impl Server for Busy {
        async fn round_trip(&self) -> Result<()> {
            Ok(())
        }

        async fn cpu_time(&self) -> Result<Option<Duration>> {
            let readings = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(Some(Duration::from_millis(readings)))
        }
    }

    fn waits(micros: u64) -> Contender {
        Contender::new(vec![Box::new(Waits(Duration::from_micros(micros)))])
    }

    #[tokio::test]
    async fn the_slower_side_has_a_ratio_below_one() {
        let (mut slow, mut others) = (waits(2_000), [waits(1_000), waits(5_000)]);
        let server = Busy::default();
        let run_for = Duration::from_millis(100);
        let ratios = in_turns(&mut slow, &mut others, Some(&server), run_for)
            .await
            .expect("measured");
        let [low, ratio, high] = ratios[0];
        assert!(ratio < 1.0 && low <= ratio && ratio <= high, "{ratio}");
        assert!(ratios[1][1] > 1.0, "{ratios:?}");
        let [fast, _] = others;
        let (slow, fast) = (slow.sum_up().expect("some"), fast.sum_up().expect("some"));
        assert!(slow.count < fast.count && slow.median_ns > fast.median_ns);
        assert!(slow.server_cpu_ns > fast.server_cpu_ns, "{slow:?} {fast:?}");
    }

    #[tokio::test]
    async fn a_side_alone_has_no_server() {
        let mut side = waits(100);
        alone(&mut side, Duration::from_millis(10))
            .await
            .expect("measured");
        let summary = side.sum_up().expect("some");
        assert!(summary.count > 0 && summary.server_cpu_ns.is_none());
    }

    #[test]
    fn quartiles_of_a_known_set() {
        let close = |found: [f64; 3], expected: [f64; 3]| {
            let pairs = found.iter().zip(expected);
            pairs.for_each(|(found, expected)| assert!((found - expected).abs() < f64::EPSILON));
        };
        close(quartiles(vec![9.0, 1.0, 2.0, 3.0, 4.0]), [2.0, 3.0, 4.0]);
        close(quartiles(Vec::new()), [0.0; 3]);
    }
}
