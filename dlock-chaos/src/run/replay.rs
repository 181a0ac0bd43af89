//! The search for a failure: its fault and the two before, again and again.

use std::path::Path;

use dlock_verify::{
    chaos::{Judgement, Kind, Plan, replay as plan_again},
    ensure,
    support::{Outcome, failed},
};

use super::{kept::Kept, part::Stage};
use crate::{
    say::say,
    stores::{self, Store},
};

/// How often it is tried.
const TRIES: usize = 50;

/// A failure of a run.
pub(super) struct Failure {
    store: Box<dyn Store>,
    /// The fault of the failure, and the two before.
    plan: Plan,
}

impl Failure {
    /// Reads what a run kept.
    ///
    /// # Errors
    ///
    /// When there is no such file, it keeps no failure, or its store or its failed card does not exist.
    pub(super) fn read(file: &Path) -> Outcome<Self> {
        let kept = Kept::read(file)?;
        let (name, place) = (&kept.plan.store, file.display());
        let store = stores::all().into_iter().find(|store| store.name() == name);
        let store = store.ok_or_else(|| {
            let known = stores::names().join(", ");
            failed(format!("{place}: no store {name} (known: {known})"))
        })?;
        let card = kept.failed_card.ok_or_else(|| {
            failed(format!(
                "{place} keeps no failure: its run held, was stopped, or is not done; run it again with --seed {:x}",
                kept.plan.seed
            ))
        })?;
        let mut cards = kept.plan.cards.iter();
        ensure!(
            cards.any(|one| one.number == card && matches!(one.kind, Kind::Fault { .. })),
            "{place}: failed_card {card} is not the number of a fault in its plan"
        );
        let plan = plan_again(&kept.plan, card);
        Ok(Self { store, plan })
    }
}

/// Whether it never failed; if `strict`, no exception is allowed.
pub(super) async fn replay(failure: &Failure, strict: bool) -> Outcome<bool> {
    let Failure { store, plan } = failure;
    let name = store.name();
    let mut failures = 0;
    for number in 1..=TRIES {
        let mut stage = Stage::start(&**store, &[]).await?;
        if strict {
            stage.exceptions.clear();
        }
        let report = stage.run.clone().again_max(0).play(plan).await?;
        let mut judgement = stage.judge(&report, &[]);
        // Three faults need not make the control lose anything.
        judgement
            .failures
            .retain(|failure| !failure.starts_with("the control"));
        failures += usize::from(!judgement.holds());
        say(name, &format!("try {number}: {}", result(&judgement)));
    }
    say(name, &format!("failed in {failures} of {TRIES}"));
    Ok(failures == 0)
}

fn result(judgement: &Judgement) -> String {
    match (judgement.broken.first(), judgement.failures.first()) {
        (Some(finding), _) => format!("{} BROKEN: {}", finding.clause, finding.text),
        (None, Some(failure)) => format!("FAILED: {failure}"),
        (None, None) => "holds".to_owned(),
    }
}
