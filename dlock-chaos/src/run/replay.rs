//! The search for a failure: its fault and the two before, again and again.

use dlock_verify::{
    chaos::{Judgement, replay as plan_again},
    support::{Outcome, failed},
};

use super::{kept::Kept, part::Stage};
use crate::{say::say, stores::Store};

/// How often it is tried.
const TRIES: usize = 50;

/// Whether it never failed; if `strict`, no exception is allowed.
pub(super) async fn replay(kept: &Kept, stores: &[Box<dyn Store>], strict: bool) -> Outcome<bool> {
    let name = &kept.plan.store;
    let store = stores.iter().find(|store| store.name() == name);
    let store = store.ok_or_else(|| failed(format!("no store {name}")))?;
    let last = kept.plan.cards.last().map(|card| card.number);
    let card = kept.failed_card.or(last).unwrap_or_default();
    let plan = plan_again(&kept.plan, card);
    let mut failures = 0;
    for number in 1..=TRIES {
        let mut stage = Stage::start(&**store, &[]).await?;
        if strict {
            stage.exceptions.clear();
        }
        let report = stage.run.clone().again_max(0).play(&plan).await?;
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
