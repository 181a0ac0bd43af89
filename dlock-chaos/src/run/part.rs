//! One part: a store is started, a plan is played, and the run is judged.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use dlock_core::Clock;
use dlock_verify::{
    chaos::{Bites, Exception, Fault, Judgement, Kind, Plan, Run, RunReport, Settled, judge, plan},
    ensure,
    support::Outcome,
};
use serde::{Deserialize, Serialize};

use super::{
    failure,
    job::Job,
    kept::{self, Kept},
    table,
};
use crate::{
    say::say,
    stores::{Started, Store},
};

/// How often a fault that did not bite strikes again.
const AGAIN_MAX: usize = 20;

/// The result of a part, as it is kept to be resumed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) grants: u64,
    pub(crate) holds: bool,
    pub(crate) bites: BTreeMap<String, Bites>,
    pub(crate) declared: BTreeMap<String, u64>,
    pub(crate) control_lost: u64,
    pub(crate) took: Duration,
    /// After a tenth of the grants, and at the end.
    pub(crate) open: Option<(Settled, Settled)>,
}

/// A store that runs, with what is played on it.
pub(crate) struct Stage {
    pub(crate) started: Started,
    pub(crate) faults: Vec<Arc<dyn Fault>>,
    pub(crate) exceptions: Vec<Exception>,
    pub(crate) run: Run,
}

impl Stage {
    /// Starts it, to play the faults that `only` names; all if it names none.
    pub(crate) async fn start(store: &dyn Store, only: &[String]) -> Outcome<Self> {
        let started = store.start().await?;
        let all = started.target.faults();
        let known: Vec<_> = all.iter().map(|fault| fault.id()).collect();
        let known = known.join(", ");
        let chosen =
            |fault: &Arc<dyn Fault>| only.is_empty() || only.iter().any(|one| one == fault.id());
        let faults: Vec<_> = all.into_iter().filter(chosen).collect();
        let none: Vec<_> = only
            .iter()
            .filter(|one| faults.iter().all(|fault| *one != fault.id()))
            .map(String::as_str)
            .collect();
        let none = none.join(", ");
        ensure!(!faults.is_empty(), "no fault {none} (allowed: {known})");
        if !none.is_empty() {
            say(
                store.name(),
                &format!("without {none}: it has no such fault (allowed: {known})"),
            );
        }
        let run = Run::new(started.target.clone(), faults.clone());
        Ok(Self {
            run: run.again_max(AGAIN_MAX),
            exceptions: Exception::of(store.name())?,
            started,
            faults,
        })
    }

    /// Judges a run in which `faults` had to bite.
    pub(crate) fn judge(&self, report: &RunReport, faults: &[&str]) -> Judgement {
        let target = &self.started.target;
        // Until the witness of the settling after it has waited in vain.
        let window = (target.ttl() + target.heal_max()) * 2 + report.store.takeover_max;
        let exceptions: Vec<_> = self.exceptions.iter().collect();
        judge(report, &exceptions, faults, window)
    }
}

/// Plays one part.
pub(crate) async fn play(
    store: &dyn Store,
    job: &Job,
    number: usize,
    directory: &Path,
) -> Outcome<Part> {
    let begin = Clock::boottime().now();
    let mut stage = Stage::start(store, &job.only).await?;
    if job.strict {
        stage.exceptions.clear();
    }
    let run = match job.longest {
        Some(longest) => stage.run.clone().longest(longest),
        None => stage.run.clone(),
    };
    let (seed, grants) = (job.seed_of(number), job.parts[number]);
    let plan = plan(
        seed,
        store.name(),
        grants,
        &stage.faults,
        job.turns_of(number),
        &run.deal(),
    );
    say_plan(store.name(), &plan);
    let mut kept = Kept {
        plan: plan.clone(),
        failed_card: None,
    };
    let file = kept.write(directory)?;
    let report = run.play(&plan).await?;
    let ids: Vec<_> = stage.faults.iter().map(|fault| fault.id()).collect();
    let judgement = stage.judge(&report, &ids);
    let took = Clock::boottime().now().since(begin);
    table::say_table(store.name(), &plan, &report, took);
    if !judgement.holds() {
        let last = report.struck.last().map(|struck| struck.card);
        let mut broken = judgement.broken.iter();
        kept.failed_card = broken.find_map(|finding| finding.card).or(last);
        kept.plan.cards.extend(report.again.clone());
        kept.write(directory)?;
        let (target, logs) = (&stage.started.target, &stage.started.logs);
        kept::keep(directory, &plan, &report, target.ttl(), logs)?;
    }
    let search = kept.failed_card.map(|_| &*file);
    failure::say_judgement(store.name(), &plan, &report, &judgement, &job.again, search);
    Ok(Part {
        grants: report.counts.grants,
        holds: judgement.holds(),
        open: report
            .tenth_and_end()
            .map(|(tenth, end)| (tenth.clone(), end.clone())),
        bites: report.bites,
        declared: judgement.declared,
        control_lost: judgement.control_lost,
        took,
    })
}

fn say_plan(store: &str, plan: &Plan) {
    let (seed, grants, cards) = (plan.seed, plan.grants, plan.cards.len());
    say(
        store,
        &format!("plan: seed {seed:x}, {grants} grants, {cards} cards"),
    );
    for card in &plan.cards {
        let what = match &card.kind {
            Kind::Settle => "heal and settle".to_owned(),
            Kind::Fault {
                fault,
                trigger,
                length,
                ..
            } => format!(
                "{fault} for {}.{} ttl at {trigger}",
                length / 10,
                length % 10
            ),
            _ => "?".to_owned(),
        };
        say(
            store,
            &format!("{:4} after {:5} grants: {what}", card.number, card.after),
        );
    }
}
