//! A run: connects the stores, measures them, and removes what it made.

use std::time::Duration;

use dlock_core::{BootInstant, Clock, Result};
use tokio::task::JoinSet;

use crate::{
    data::{Awake, FORMAT, Run, Settings},
    entrants, extras,
    labels::labels,
    machine::{Load, LoadParts, describe, now_utc},
    names::Names,
    plan::{Plan, Scope},
    rounds::{self, HALF_WIDTH_MAX, KeepAwake, Pace, Rounds, SETTLE},
    slot::Slot,
    stats::{Bootstrap, RESAMPLES},
    store::{Left, Store},
    summary::Summary,
    target::Target,
    tasks::defect,
};

/// The part of the run that is kept for its end, and at most how long: for closing, and removing the names.
const END_PART: u32 = 20;
const END_MAX: Duration = Duration::from_secs(5);

/// Receives how much is done, from 0 to 1, and what is under way.
pub type Progress<'a> = &'a (dyn Fn(f64, &str) + Send + Sync);

/// A run: [`connect`](Self::connect), then [`measure`](Self::measure).
///
/// Both can be dropped at any time, such as at a signal. [`clean_up`](Self::clean_up) then removes what they made.
pub struct Bench {
    plan: Plan,
    begun: BootInstant,
    begun_at: String,
    slots: Vec<Slot>,
}

/// The conditions of the rounds.
struct Outcome {
    settled: bool,
    load: Option<LoadParts>,
    window: Duration,
}

impl Bench {
    /// A run that measures the stores of `targets`. It begins now.
    #[must_use]
    pub fn new(plan: Plan, targets: &[Target]) -> Self {
        let run = format!("{:08x}", rand::random::<u32>());
        let slot = |target: &Target| Slot::new(target.clone(), Names::new(&run));
        Self {
            plan,
            begun: Clock::boottime().now(),
            begun_at: now_utc(),
            slots: targets.iter().map(slot).collect(),
        }
    }

    /// Connects to all stores at once. One that cannot be reached is a row with its error.
    ///
    /// # Errors
    ///
    /// `InvalidConfig`, `InvalidInput` or `Unsupported` when a store is configured wrongly.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connections.
    pub async fn connect(&mut self) -> Result<()> {
        let mut connecting = JoinSet::new();
        for (at, slot) in self.slots.iter().enumerate() {
            let (target, names) = (slot.target.clone(), slot.names.clone());
            connecting.spawn(async move { (at, Store::connect(&target, names).await) });
        }
        while let Some(connected) = connecting.join_next().await {
            let (at, store) = connected.map_err(defect)?;
            self.slots[at].connected(store)?;
        }
        let backends: Vec<_> = self
            .slots
            .iter()
            .map(|slot| slot.data.backend.clone())
            .collect();
        for (slot, label) in self.slots.iter_mut().zip(labels(&backends)) {
            slot.data.label = label;
        }
        Ok(())
    }

    /// Measures the stores that are connected.
    ///
    /// # Errors
    ///
    /// The first store's error, when nothing was measured of any. What fails after that is in the data, and what was
    /// measured before stays.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the workers. What was measured is lost.
    pub async fn measure(&mut self, progress: Progress<'_>) -> Result<Run> {
        progress(0.0, "connecting the workers, and a round to warm up");
        let mut rounds = self.enter().await;
        let outcome = self.rounds(&mut rounds, progress).await;
        let mut run = self.sum_up(&rounds, &outcome);
        rounds.end().await;
        if self.plan.scope == Scope::All {
            let (begun, forecast) = (self.begun, self.forecast());
            let report = |what: &str| progress(part(begun, forecast), what);
            let (run_for, seed) = (self.plan.run_for, self.plan.seed);
            extras::measure(&mut self.slots, run_for, seed, report).await;
        }
        run.stores = self.slots.iter().map(|slot| slot.data.clone()).collect();
        run.took_ms = millis(Clock::boottime().now().since(self.begun));
        if self.slots.iter().all(Slot::is_empty)
            && let Some(error) = self.slots.iter_mut().find_map(Slot::take_error)
        {
            return Err(error);
        }
        Ok(run)
    }

    /// Ends all lockers, and removes what the names of the run left in the stores. Reports the stores that may still
    /// have some of it, by their URLs.
    ///
    /// # Cancel safety
    ///
    /// The rest stays in the stores.
    pub async fn clean_up(self) -> Vec<(String, Left)> {
        let mut cleaning = JoinSet::new();
        for slot in self.slots {
            cleaning.spawn(async move { (slot.data.url.clone(), slot.clean_up().await) });
        }
        let ended = cleaning.join_all().await.into_iter();
        ended
            .filter_map(|(url, cleaned)| Some((url, cleaned.err()?)))
            .collect()
    }

    /// The sides of all stores, each warm.
    async fn enter(&mut self) -> Rounds {
        let mut all = Vec::new();
        for (number, slot) in (0..).zip(&mut self.slots) {
            let Some(store) = slot.live() else {
                continue;
            };
            match entrants::of_store(store, number, self.plan.tasks()).await {
                Ok(entrants) => all.extend(entrants),
                Err(error) => slot.fail("starting the workers", &error),
            }
        }
        let mut rounds = Rounds::new(all, self.keep_awake().await, self.plan.seed);
        for failure in rounds.warm_up().await {
            self.slots[failure.store as usize].fail("warming up", &failure.error);
        }
        rounds
    }

    async fn keep_awake(&self) -> KeepAwake {
        // Any store's worker does it: it does not connect.
        let mut commands = self.slots.iter().map(|slot| &slot.target.worker);
        let servers = self.slots.iter().filter_map(|slot| slot.live()?.pid);
        let servers: Vec<u32> = servers.collect();
        KeepAwake::start(commands.next(), &servers).await
    }

    async fn rounds(&mut self, rounds: &mut Rounds, progress: Progress<'_>) -> Outcome {
        let end = self.begun.after(self.plan.run_for);
        let end = end.before(END_MAX.min(self.plan.run_for / END_PART));
        let mut pace = Pace::new(self.begun, end);
        let mut processes = rounds.processes();
        processes.extend(self.slots.iter().filter_map(|slot| slot.live()?.pid));
        let before = Load::read(&processes);
        let forecast = self.forecast();
        let (begun, slots, plan) = (self.begun, &mut self.slots, &self.plan);
        let is_settled = |rounds: &Rounds| summary(rounds, plan).is_settled();
        let settled = rounds::run(rounds, &mut pace, is_settled, |count, failures| {
            progress(part(begun, forecast), &format!("round {count}"));
            for failure in failures {
                slots[failure.store as usize].fail(&format!("in round {count}"), &failure.error);
            }
        });
        Outcome {
            settled: settled.await,
            load: before.and_then(|before| Load::read(&processes)?.since(before)),
            window: pace.last_window(),
        }
    }

    /// The data of the rounds, without the workloads beside them.
    fn sum_up(&mut self, rounds: &Rounds, outcome: &Outcome) -> Run {
        let summary = summary(rounds, &self.plan);
        for (number, slot) in (0..).zip(&mut self.slots) {
            let unit = slot
                .any()
                .and_then(Store::server)
                .map(|server| server.unit());
            let is_local = slot.any().is_some_and(|store| store.pid.is_some());
            let data = &mut slot.data;
            data.cycles = summary.cycles(number, is_local);
            data.new_names = summary.new_names(number);
            data.used_once = summary.used_once(number);
            data.exchange = unit.and_then(|unit| summary.exchange(number, unit));
            data.hand_over = summary.hand_over(number);
            data.one_shot = summary.one_shot(number);
        }
        let labels: Vec<_> = self
            .slots
            .iter()
            .map(|slot| slot.data.label.clone())
            .collect();
        Run {
            format: FORMAT.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: format!("{:x}", self.plan.seed),
            begun_at: self.begun_at.clone(),
            took_ms: 0,
            settled: outcome.settled,
            machine: describe(),
            settings: self.settings(outcome, rounds.awake.state()),
            noise: summary.noise(
                u32::try_from(labels.len()).unwrap_or(u32::MAX),
                outcome.load,
            ),
            stores: Vec::new(),
            verdicts: None,
            comparisons: summary.comparisons(&labels),
            sides: rounds.entrants.iter().map(|entrant| entrant.key).collect(),
            rounds: rounds.rounds.clone(),
        }
    }

    fn forecast(&self) -> Duration {
        let configs = self.slots.iter().map(|slot| slot.target.config.clone());
        self.plan.forecast(&configs.collect::<Vec<_>>())
    }

    fn settings(&self, outcome: &Outcome, awake: Awake) -> Settings {
        Settings {
            run_for_ms: millis(self.plan.run_for),
            all: self.plan.scope == Scope::All,
            local: self.slots.iter().any(|slot| slot.target.pid.is_some()),
            tasks: self.plan.tasks().to_vec(),
            slice_ms: millis(outcome.window),
            settle_ms: millis(SETTLE),
            resamples: RESAMPLES,
            half_width_max: HALF_WIDTH_MAX,
            awake: Some(awake),
        }
    }
}

impl std::fmt::Debug for Bench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bench")
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

fn summary<'a>(rounds: &'a Rounds, plan: &Plan) -> Summary<'a> {
    Summary {
        rounds,
        bootstrap: Bootstrap { seed: plan.seed },
        cores: describe().cores,
    }
}

/// How much of the run is over.
fn part(begun: BootInstant, forecast: Duration) -> f64 {
    let over = Clock::boottime().now().since(begun).as_secs_f64();
    (over / forecast.as_secs_f64()).min(1.0)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
