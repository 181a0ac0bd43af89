//! Plays the cards of a plan.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use dlock_core::BootInstant;
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    scene::Scene,
    settle::Settled,
    spent::{Phase, Stopwatch},
    strike::strike,
};
use crate::{
    chaos::{
        fault::{Fault, Site},
        faults::WRITES_LATE,
        plan::{Card, Kind, Plan},
        trigger::Trigger,
        workers::Occasion,
    },
    proxy::Direction,
    support::{Outcome, failed},
};

/// How many faults may be on at once.
const ACTIVE_MAX: usize = 2;

/// A trigger that does not come within so many ttls is given up; the card is played at that time.
const TRIGGER_TTLS: u32 = 4;

/// No grant for so long while cards wait for one fails the run.
const GRANT_MAX: Duration = Duration::from_secs(60);

/// How often the bytes of a proxy are counted.
const BURST_EVERY: Duration = Duration::from_millis(1);

/// Effects are counted for at most so many faults at once.
const COUNTING_MAX: u32 = 64;

pub(super) struct Nemesis {
    scene: Arc<Scene>,
    end: Option<BootInstant>,
    active: JoinSet<Outcome>,
    /// Faults that were undone, and whose effects are still counted.
    counting: Arc<Semaphore>,
    settled: Vec<Settled>,
    /// The cards that were dealt again.
    again: Vec<Card>,
    /// The begin of the last fault.
    last_begin: Option<BootInstant>,
    stopwatch: Stopwatch,
}

impl Nemesis {
    pub(super) fn new(scene: Arc<Scene>, longest: Option<Duration>) -> Self {
        let end = longest.map(|longest| scene.clock.now().after(longest));
        Self {
            stopwatch: Stopwatch::start(scene.clock.clone()),
            scene,
            end,
            active: JoinSet::new(),
            counting: Arc::new(Semaphore::new(COUNTING_MAX as usize)),
            settled: Vec::new(),
            again: Vec::new(),
            last_begin: None,
        }
    }

    pub(super) fn settled(&self) -> &[Settled] {
        &self.settled
    }

    pub(super) fn spent(&self) -> BTreeMap<Phase, Duration> {
        self.stopwatch.spent()
    }

    pub(super) fn again(&self) -> &[Card] {
        &self.again
    }

    /// Plays all cards, then again those of faults that did not bite; waits for the grants, and settles.
    pub(super) async fn play(&mut self, plan: &Plan, again_max: usize) -> Outcome {
        for card in &plan.cards {
            if self.is_over() {
                break;
            }
            self.play_card(card).await?;
        }
        self.undone().await?;
        for turn in 0..again_max {
            let tame = self.tame().await?;
            if tame.is_empty() || self.is_over() {
                break;
            }
            for fault in tame {
                let card = plan.again(&*fault, turn, self.again.len(), &self.scene.deal);
                self.again.push(card.clone());
                self.play_card(&card).await?;
            }
            self.undone().await?;
        }
        if !self.is_over() {
            self.until_grants(plan.grants).await?;
        }
        self.undone().await?;
        let settled = self.scene.settle_finally().await?;
        self.stopwatch.spent_on(Phase::Settling);
        self.settled.push(settled);
        self.counted().await
    }

    /// Waits until the effects of all faults are counted, for 2 ttl after the last one.
    async fn counted(&self) -> Outcome {
        drop(self.counting.acquire_many(COUNTING_MAX).await?);
        Ok(())
    }

    /// The faults that have not bitten yet; for one that writes late, until a write was lost.
    async fn tame(&mut self) -> Outcome<Vec<Arc<dyn Fault>>> {
        self.counted().await?;
        self.stopwatch.spent_on(Phase::Effects);
        let bites = self.scene.ledger.bites();
        let unfenced = self.proves_no_fencing();
        let is_tame = |fault: &&Arc<dyn Fault>| {
            let has_bitten = bites.get(fault.id()).is_some_and(|all| all.bites > 0);
            !has_bitten || unfenced && fault.id() == WRITES_LATE
        };
        Ok(self.scene.faults.iter().filter(is_tame).cloned().collect())
    }

    /// Whether the registers without tokens have lost nothing yet, so that the tokens of the others prove nothing.
    fn proves_no_fencing(&self) -> bool {
        let ends_by_time = self.scene.bounds().ends_by_time;
        ends_by_time && self.scene.observer.control_lost() == 0
    }

    async fn play_card(&mut self, card: &Card) -> Outcome {
        self.until_grants(card.after).await?;
        let Kind::Fault {
            fault,
            trigger,
            length,
            choice,
        } = &card.kind
        else {
            return self.settle().await;
        };
        let known = self.scene.faults.iter().find(|known| known.id() == fault);
        let known = known.cloned();
        let fault = known.ok_or_else(|| failed(format!("no fault {fault} of this store")))?;
        let active_max = if fault.alone() { 0 } else { ACTIVE_MAX - 1 };
        self.until_active(active_max).await?;
        let worker = self.trigger(*trigger, *choice).await;
        self.stopwatch.spent_on(Phase::Triggers);
        let ttl = self.scene.target.ttl();
        let site = Site {
            workers: self.scene.workers.clone(),
            worker,
            length: ttl * *length / 10,
            ttl,
            choice: *choice,
        };
        self.last_begin = Some(self.scene.clock.now());
        let counting = self.counting.clone().acquire_owned().await?;
        let strike = strike(
            self.scene.clone(),
            fault.clone(),
            site,
            card.number,
            counting,
        );
        self.active.spawn(strike);
        if fault.alone() {
            self.undone().await?;
            // Its effects are its own, and are all counted before holds are interrupted.
            self.tame().await?;
            self.settle().await?;
            fault.mend().await?;
        }
        Ok(())
    }

    /// Waits for the trigger: the worker that it happens to.
    async fn trigger(&self, trigger: Trigger, choice: u64) -> usize {
        let (observer, workers) = (&self.scene.observer, &self.scene.workers);
        let any = usize::try_from(choice % workers.count().max(1) as u64).unwrap_or_default();
        let event = async {
            match trigger {
                Trigger::Grant { name, nth } => observer.occurs(Occasion::Grant(name), nth).await,
                Trigger::BeforeWrite { nth } => observer.occurs(Occasion::BeforeWrite, nth).await,
                Trigger::Queued { nth } => observer.occurs(Occasion::Queued, nth).await,
                Trigger::Burst { worker, nth } => {
                    self.bursts(worker, nth).await;
                    worker
                }
                Trigger::During { ms } => {
                    let begin = self.last_begin.filter(|_| !self.active.is_empty());
                    let due = begin.map(|begin| begin.after(Duration::from_millis(ms)));
                    let left = due.map(|due| due.since(self.scene.clock.now()));
                    sleep(left.unwrap_or_default()).await;
                    any
                }
            }
        };
        let max = self.scene.target.ttl() * TRIGGER_TTLS;
        timeout(max, event).await.unwrap_or(any)
    }

    async fn bursts(&self, worker: usize, nth: u32) {
        let proxies = self.scene.workers.proxies(worker);
        let seen = || {
            proxies
                .iter()
                .map(|proxy| proxy.seen(Direction::ToServer))
                .sum::<u64>()
        };
        for _ in 0..nth {
            let before = seen();
            while seen() == before {
                sleep(BURST_EVERY).await;
            }
        }
    }

    async fn settle(&mut self) -> Outcome {
        self.undone().await?;
        let settled = self.scene.settle().await?;
        self.stopwatch.spent_on(Phase::Settling);
        self.settled.push(settled);
        Ok(())
    }

    async fn until_grants(&mut self, grants: u64) -> Outcome {
        loop {
            let before = self.scene.observer.counts().grants;
            if before >= grants || self.is_over() {
                self.stopwatch.spent_on(Phase::Grants);
                return Ok(());
            }
            let next = self.scene.observer.until_grants((before + 1).min(grants));
            let late = |_| failed(format!("no grant within {GRANT_MAX:?} after {before}"));
            timeout(GRANT_MAX, next).await.map_err(late)?;
        }
    }

    /// Whether the time is over.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| self.scene.clock.now() > end)
    }

    /// Waits until all faults are undone.
    async fn undone(&mut self) -> Outcome {
        self.until_active(0).await
    }

    async fn until_active(&mut self, max: usize) -> Outcome {
        while self.active.len() > max {
            if let Some(ended) = self.active.join_next().await {
                ended??;
            }
        }
        self.stopwatch.spent_on(Phase::Faults);
        Ok(())
    }
}
