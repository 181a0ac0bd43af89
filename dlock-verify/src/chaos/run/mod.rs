//! A run: the deck is played against the workers, and what came of it is judged.

mod bites;
mod nemesis;
mod report;
mod scene;
mod settle;
mod spent;
mod strike;

use std::{sync::Arc, time::Duration};

use dlock_core::Clock;

use super::{
    client::Assignment,
    fault::{Deal, Fault},
    lag::Watchdog,
    plan::Plan,
    target::Target,
    workers::{Observer, Workers},
};
use crate::{ensure, history::EventKind, support::Outcome};

use self::{bites::Ledger, nemesis::Nemesis, scene::Scene, settle::take_all};
pub use self::{
    bites::{Bites, Struck},
    report::RunReport,
    settle::Settled,
    spent::Phase,
};

/// A run to be made.
#[derive(Clone)]
pub struct Run {
    target: Arc<dyn Target>,
    faults: Vec<Arc<dyn Fault>>,
    prefix: String,
    longest: Option<Duration>,
    again_max: usize,
}

impl Run {
    /// A run against `target` with these faults.
    #[must_use]
    pub fn new(target: Arc<dyn Target>, faults: Vec<Arc<dyn Fault>>) -> Self {
        Self {
            target,
            faults,
            prefix: "chaos/".to_owned(),
            longest: None,
            again_max: 20,
        }
    }

    /// The prefix of the names that are locked; `chaos/` by default.
    #[must_use]
    pub fn prefix(self, prefix: &str) -> Self {
        let prefix = prefix.to_owned();
        Self { prefix, ..self }
    }

    /// No card is played after this time; by default all are.
    #[must_use]
    pub fn longest(self, longest: Duration) -> Self {
        Self {
            longest: Some(longest),
            ..self
        }
    }

    /// How often a fault that did not bite strikes again; 20 times by default.
    #[must_use]
    pub fn again_max(self, again_max: usize) -> Self {
        Self { again_max, ..self }
    }

    /// The names, workers and proxies that triggers are dealt from.
    #[must_use]
    pub fn deal(&self) -> Deal {
        let load = self.target.load();
        let has_proxies = !self.target.servers().is_empty();
        Deal::new(load.hot + load.shared, load.workers, has_proxies)
    }

    /// Plays `plan` to its end.
    ///
    /// # Errors
    ///
    /// When the run itself cannot go on: a worker that fails, a fault that cannot strike, a store that does
    /// not come back. What the store broke is in the report.
    ///
    /// # Cancel safety
    ///
    /// Not safe: a fault of a server may stay. The workers are killed.
    pub async fn play(&self, plan: &Plan) -> Outcome<RunReport> {
        let scene = Arc::new(self.scene(plan).await?);
        let mut nemesis = Nemesis::new(scene.clone(), self.longest);
        let played = nemesis.play(plan, self.again_max).await;
        let settled = match played {
            Ok(()) => scene.workers.end().await,
            failed => failed,
        };
        let mut report = scene.report(nemesis.settled());
        report.spent = nemesis.spent();
        report.cut_short = nemesis.is_over();
        report.again = nemesis.again().to_vec();
        report.failed = settled
            .err()
            .map(|failed| failed.message().unwrap_or("no reason").to_owned());
        scene.witness.shutdown(self.target.heal_max()).await?;
        Ok(report)
    }

    async fn scene(&self, plan: &Plan) -> Outcome<Scene> {
        let (target, load) = (self.target.clone(), self.target.load());
        let names = load.names(&self.prefix);
        let observer = Arc::new(Observer::new(names.clone(), load.workers));
        let (servers, lagging) = (target.servers(), observer.clone());
        let witness = target.connect(&target.url(&servers)).await?;
        let pattern = Assignment {
            url: String::new(),
            client: 0,
            worker: 0,
            seed: plan.seed,
            ttl: target.ttl(),
            prefix: self.prefix.clone(),
            load,
        };
        // A store that never had a client may grant nothing at first.
        let taken = take_all(&witness, &names, &*target).await?;
        ensure!(taken.is_empty(), "not free at first: {}", taken.join(", "));
        let starter = target.clone();
        let workers = Workers::start(
            observer.clone(),
            &pattern,
            &servers,
            |addresses| target.url(addresses),
            Box::new(move || starter.worker()),
        );
        Ok(Scene {
            workers: Arc::new(workers.await?),
            faults: self.faults.clone(),
            names,
            observer,
            ledger: Ledger::default(),
            watchdog: Watchdog::start(move |by| lagging.record(EventKind::Lagged { by })),
            clock: Clock::boottime(),
            witness,
            deal: self.deal(),
            target,
        })
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("store", &self.target.store())
            .field("faults", &self.faults.len())
            .finish_non_exhaustive()
    }
}
