//! The verdicts as the report shows them.

use dlock_verify::verdict::{Finding, Severity, Verdict};

use super::{
    format,
    shown::{Shown, ShownStore},
};
use crate::safety::{Safety, clauses, findings};

/// The finding that a reader must know first.
#[derive(Debug)]
pub(super) struct Gravest {
    pub(super) head: String,
    pub(super) text: String,
    pub(super) advice: Option<String>,
    /// How many others of any kind there are.
    pub(super) others: usize,
}

pub(super) fn judge(store: &ShownStore<'_>) -> Safety {
    Safety::of(store.verdict)
}

/// The class and the words of the chip of a store, which never break across lines.
pub(super) fn chip(safety: &Safety) -> (&'static str, String) {
    let class = match safety {
        Safety::Danger(_) => "chip ba",
        Safety::Warnings(..) => "chip wa",
        Safety::Unknown(_) | Safety::NotVerified => "chip un",
        Safety::Holds => "chip ok",
    };
    let (sign, words) = safety.shown();
    (class, format!("{sign} {words}").replace(' ', "\u{a0}"))
}

/// The value of a setting, and its consequence.
pub(super) fn described(finding: &Finding) -> String {
    let found = format::sentence(&format!("Found: {}", finding.found));
    let consequence = format::sentence(&finding.consequence);
    format!("{found} {consequence}").trim_end().to_owned()
}

/// A clause that fails, then dangers, then warnings; `None` without any of them.
pub(super) fn gravest(shown: &Shown<'_>) -> Option<Gravest> {
    let verdicts = || {
        let stores = shown.stores.iter();
        stores.filter_map(|store| Some((store, store.verdict?)))
    };
    let failed = verdicts().flat_map(|(store, verdict)| {
        clauses(verdict, Verdict::Fails).map(move |clause| (store, clause))
    });
    let failed: Vec<_> = failed.collect();
    let found = [Severity::Danger, Severity::Warning]
        .into_iter()
        .flat_map(|severity| {
            verdicts().flat_map(move |(store, verdict)| {
                findings(verdict, severity).map(move |finding| (store, finding))
            })
        });
    let found: Vec<_> = found.collect();
    let others = (failed.len() + found.len()).saturating_sub(1);
    if let Some((store, clause)) = failed.first() {
        return Some(Gravest {
            head: format!("{}: {} fails", store.name, clause.id),
            text: format!("{}: {}.", clause.title, clause.evidence),
            advice: None,
            others,
        });
    }
    let (store, finding) = found.first()?;
    Some(Gravest {
        head: format!("{}: {}", store.name, finding.setting),
        text: described(finding),
        advice: Some(finding.advice.clone()).filter(|advice| !advice.is_empty()),
        others,
    })
}
