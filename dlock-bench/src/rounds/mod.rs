//! The rounds of a run: in each, every side of every store runs for a slice, in an order that is shuffled by the
//! seed. A disturbance of the machine thus hits all alike, and a ratio is that of one round.

mod awake;
mod entrant;
mod meter;
mod pace;

use std::time::Duration;

use dlock_core::{Clock, Error};
use rand::{SeedableRng as _, rngs::Xoshiro256PlusPlus, seq::SliceRandom as _};
use tokio::time::timeout;

pub use self::awake::KeepAwake;
use self::pace::SLICE_MAX;
pub(crate) use self::{
    entrant::{Entrant, Record},
    meter::Meter,
    pace::{HALF_WIDTH_MAX, Pace, SETTLE},
};
use crate::{
    data::{Round, SideKey, Slice, Workload},
    store::no_answer_within,
};

/// The length of the slices that warm up.
const WARM_UP: Duration = Duration::from_millis(30);

/// All sides, and the rounds so far.
pub(crate) struct Rounds {
    pub(crate) entrants: Vec<Entrant>,
    pub(crate) rounds: Vec<Round>,
    pub(crate) awake: KeepAwake,
    random: Xoshiro256PlusPlus,
}

/// A store that failed in a round; none of its sides runs again.
pub(crate) struct StoreFailure {
    pub(crate) store: u32,
    pub(crate) error: Error,
}

impl Rounds {
    pub(crate) fn new(entrants: Vec<Entrant>, awake: KeepAwake, seed: u64) -> Self {
        Self {
            entrants,
            rounds: Vec::new(),
            awake,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Runs each side once, without recording it: it makes its connections.
    ///
    /// # Cancel safety
    ///
    /// The round is lost.
    pub(crate) async fn warm_up(&mut self) -> Vec<StoreFailure> {
        let mut failures = Vec::new();
        for at in 0..self.entrants.len() {
            if self.entrants[at].has_failed {
                continue;
            }
            if let Err(error) = self.slice(at, WARM_UP).await {
                failures.push(self.fail(at, error));
            }
            self.entrants[at].record = Record::new();
        }
        failures
    }

    /// Runs and records one round of slices with this `window`, `begun` after the run's begin.
    ///
    /// # Cancel safety
    ///
    /// The round is lost.
    pub(crate) async fn round(&mut self, window: Duration, begun: Duration) -> Vec<StoreFailure> {
        let mut failures = Vec::new();
        let mut order: Vec<usize> = (0..self.entrants.len()).collect();
        order.shuffle(&mut self.random);
        let mut slices = Vec::new();
        for at in order {
            if self.entrants[at].has_failed {
                continue;
            }
            tokio::time::sleep(SETTLE).await;
            match self.slice(at, window).await {
                Ok(slice) => slices.push(slice),
                Err(error) => failures.push(self.fail(at, error)),
            }
        }
        for slice in &slices {
            self.entrants[slice.side as usize]
                .record
                .slices
                .push(*slice);
        }
        self.rounds.push(Round {
            begun_ms: u64::try_from(begun.as_millis()).unwrap_or(u64::MAX),
            slices,
        });
        failures
    }

    async fn slice(&mut self, at: usize, window: Duration) -> Result<Slice, Error> {
        let side = u32::try_from(at).unwrap_or(u32::MAX);
        self.awake.set(is_latency(self.entrants[at].key)).await;
        let slice = timeout(SLICE_MAX, self.entrants[at].slice(side, window)).await;
        slice.unwrap_or_else(|_| Err(no_answer_within(SLICE_MAX)))
    }

    /// All sides of the store that failed stop, also those that were waiting for their turn.
    fn fail(&mut self, at: usize, error: Error) -> StoreFailure {
        let store = self.entrants[at].key.store;
        let others = self.entrants.iter_mut();
        others
            .filter(|entrant| entrant.key.store == store)
            .for_each(|entrant| entrant.has_failed = true);
        StoreFailure { store, error }
    }

    /// Ends the further processes of all sides.
    pub(crate) async fn end(self) {
        for entrant in self.entrants {
            entrant.side.end().await;
        }
    }

    /// The further processes of all sides, and the one that keeps the cores awake.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let sides = self.entrants.iter();
        let sides = sides.flat_map(|entrant| entrant.side.processes());
        sides.chain(self.awake.process()).collect()
    }
}

/// Whether a side has one request at a time, so that client and server sleep in turns.
fn is_latency(key: SideKey) -> bool {
    key.tasks == 1 || key.workload == Workload::HandOver
}

/// Runs rounds until the pace ends them, and reports whether all intervals became narrow.
///
/// # Cancel safety
///
/// The last round is lost.
pub(crate) async fn run(
    rounds: &mut Rounds,
    pace: &mut Pace,
    is_settled: impl Fn(&Rounds) -> bool,
    mut after_each: impl FnMut(usize, Vec<StoreFailure>),
) -> bool {
    let clock = Clock::boottime();
    loop {
        let began = clock.now();
        let weight = rounds.entrants.iter().filter(|entrant| !entrant.has_failed);
        let (count, weight) = weight.fold((0, 0.0), |(count, sum), entrant| {
            (count + 1, sum + entrant.weight)
        });
        if count == 0 {
            return false;
        }
        let window = pace.window(count, weight, began);
        let failures = rounds.round(window, began.since(pace.begun)).await;
        pace.ended_round(window, weight, clock.now().since(began));
        after_each(rounds.rounds.len(), failures);
        if pace.may_settle(rounds.rounds.len()) && is_settled(rounds) {
            return true;
        }
        if pace.is_over(rounds.rounds.len(), clock.now()) {
            return is_settled(rounds);
        }
    }
}
