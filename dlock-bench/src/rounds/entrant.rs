//! A side in the rounds, and what was recorded of it.

use std::{sync::Arc, time::Duration};

use dlock_core::{Clock, Result};
use dlock_raw::residue::Cleared;

use super::meter::Meter;
use crate::{
    data::{SideKey, Slice},
    machine::{Spent, own_cpu_time},
    sides::{Runner, Sample},
    stats::{Durations, median},
};

/// A side in the rounds.
pub(crate) struct Entrant {
    pub(crate) key: SideKey,
    pub(crate) side: Box<dyn Runner>,
    /// The part of the window that it runs for.
    pub(crate) weight: f64,
    pub(crate) meter: Arc<Meter>,
    pub(crate) record: Record,
    /// How long a cycle took in the last slice.
    cycle: Duration,
    /// Whether its store failed: it does not run again.
    pub(crate) has_failed: bool,
}

/// The records of a side.
pub(crate) struct Record {
    pub(crate) durations: Durations,
    /// The processor time of the threads of a server on this machine.
    pub(crate) server: Spent,
    /// How long the server waited for its disk; `None` if it is not known of any slice.
    pub(crate) flush: Option<Duration>,
    /// How many cycles the server worked for.
    pub(crate) all: u64,
    /// Entries that the slices left in the store, which were removed.
    pub(crate) cleared: Cleared,
    /// The slices of all rounds.
    pub(crate) slices: Vec<Slice>,
}

impl Entrant {
    pub(crate) fn new(
        key: SideKey,
        side: impl Runner + 'static,
        weight: f64,
        meter: &Arc<Meter>,
    ) -> Self {
        Self {
            key,
            side: Box::new(side),
            weight,
            meter: meter.clone(),
            record: Record::new(),
            cycle: Duration::ZERO,
            has_failed: false,
        }
    }

    /// Runs a slice of its part of `window`.
    ///
    /// # Errors
    ///
    /// The first error of the store.
    pub(super) async fn slice(&mut self, number: u32, window: Duration) -> Result<Slice> {
        let before = self.meter.before().await?;
        let (client, began) = (own_cpu_time(), Clock::boottime().now());
        let window = window.mul_f64(self.weight);
        let sample = self.side.slice(window, self.cycle).await?;
        let took = Clock::boottime().now().since(began);
        self.cycle = cycle_of(took, &sample).unwrap_or(self.cycle);
        let client = own_cpu_time().saturating_sub(client);
        let server = self.meter.since(&before).await?;
        let cleared = self.side.clear().await?;
        let counted = |time: Duration| of_counted(time, &sample);
        let slice = Slice {
            side: number,
            count: sample.durations.len() as u64,
            took_us: micros(sample.took()),
            median_ns: median_of(&sample.durations),
            client_cpu_us: micros(counted(client)),
            server_cpu_us: server.total().map(|time| micros(counted(time))),
        };
        for duration in &sample.durations {
            self.record.durations.record(*duration);
        }
        if let Some(spent) = server.threads() {
            self.record.server.add(spent);
        }
        let flush = self.record.flush.zip(server.flush);
        self.record.flush = flush.map(|(sum, one)| sum + one);
        self.record.all += sample.all;
        self.record.cleared.removed += cleared.removed;
        self.record.cleared.locks += cleared.locks;
        Ok(slice)
    }
}

impl Record {
    pub(crate) fn new() -> Self {
        Self {
            durations: Durations::new(),
            server: Spent::default(),
            flush: Some(Duration::ZERO),
            all: 0,
            cleared: Cleared::default(),
            slices: Vec::new(),
        }
    }

    /// The part that one cycle has of a time of the server, in nanoseconds.
    pub(crate) fn of_cycle(&self, time: Duration) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run")]
        let nanos = (self.all > 0).then(|| time.as_nanos() as f64 / self.all as f64);
        nanos
    }
}

/// How long a cycle took on average; `None` if none ended.
fn cycle_of(took: Duration, sample: &Sample) -> Option<Duration> {
    let all = u32::try_from(sample.all).ok().filter(|all| *all > 0)?;
    Some(took * sample.tasks / all)
}

/// The part of a processor time that those have that ended within the slice.
fn of_counted(time: Duration, sample: &Sample) -> Duration {
    if sample.all == 0 {
        return Duration::ZERO;
    }
    #[expect(clippy::cast_precision_loss, reason = "a part")]
    let part = sample.durations.len() as f64 / sample.all as f64;
    time.mul_f64(part)
}

fn median_of(durations: &[Duration]) -> Option<u64> {
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a slice")]
    let mut nanos: Vec<f64> = durations.iter().map(|one| one.as_nanos() as f64).collect();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "nanoseconds of a slice"
    )]
    let whole = |nanos: f64| nanos.round() as u64;
    median(&mut nanos).map(whole)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
