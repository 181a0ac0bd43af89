//! The sum of the verdicts, store by store.

use dlock_verify::verdict::{ClauseVerdict, Finding, Severity, StoreVerdict, Verdict};

use super::{format, shown::Shown, shown::ShownStore};

/// The safety of a store in a word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Judgement {
    /// A clause fails, or a setting is a danger: what, in words.
    Danger(String),
    /// Declared exceptions apply to this server.
    Warnings(usize),
    /// Clauses or settings are open.
    Unknown(usize),
    /// All clauses hold, with this many grants.
    Holds(u64),
    /// The store was not verified, or not reached.
    NotVerified,
}

/// The finding that a reader must know first.
#[derive(Debug)]
pub(super) struct Gravest {
    pub(super) head: String,
    pub(super) text: String,
    pub(super) advice: Option<String>,
    /// How many others of any kind there are.
    pub(super) others: usize,
}

pub(super) fn judge(store: &ShownStore<'_>) -> Judgement {
    let Some(verdict) = store.verdict.filter(|verdict| verdict.error.is_none()) else {
        return Judgement::NotVerified;
    };
    let failed: Vec<&str> = clauses(verdict, Verdict::Fails)
        .map(|clause| clause.id.id())
        .collect();
    let dangers = findings(verdict, Severity::Danger).count();
    let left = verdict.residue.left.len();
    match (failed.as_slice(), dangers, left) {
        ([], 0, 0) => {}
        ([], 0, left) => {
            return Judgement::Danger(format!(
                "{} left",
                format::plural(left, "entry").replace("entrys", "entries")
            ));
        }
        ([], dangers, _) => return Judgement::Danger(format::plural(dangers, "danger")),
        (failed, ..) => return Judgement::Danger(format!("{} fails", failed.join(", "))),
    }
    let warnings = findings(verdict, Severity::Warning).count();
    let open = clauses(verdict, Verdict::Unknown)
        .filter(|clause| !clause.accepted)
        .count()
        + findings(verdict, Severity::Unknown).count();
    match (warnings, open) {
        (0, 0) => Judgement::Holds(verdict.grants),
        (0, open) => Judgement::Unknown(open),
        (warnings, _) => Judgement::Warnings(warnings),
    }
}

impl Judgement {
    pub(super) fn is_clean(&self) -> bool {
        matches!(self, Self::Holds(_))
    }

    /// The class and the words of its chip.
    pub(super) fn chip(&self) -> (&'static str, String) {
        match self {
            Self::Danger(what) => ("chip ba", format!("✕\u{a0}{what}")),
            Self::Warnings(number) => (
                "chip wa",
                format!("▲\u{a0}{}", format::plural(*number, "warning")),
            ),
            Self::Unknown(number) => ("chip un", format!("?\u{a0}{number}\u{a0}unknown")),
            Self::Holds(_) => ("chip ok", "✓\u{a0}all\u{a0}hold".to_owned()),
            Self::NotVerified => ("chip un", "?\u{a0}not verified".to_owned()),
        }
    }
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
        head: format!("{}: {} {}", store.name, finding.setting, finding.found),
        text: finding.consequence.clone(),
        advice: Some(finding.advice.clone()).filter(|advice| !advice.is_empty()),
        others,
    })
}

fn clauses(verdict: &StoreVerdict, which: Verdict) -> impl Iterator<Item = &ClauseVerdict> {
    verdict
        .clauses
        .iter()
        .filter(move |clause| clause.verdict == which)
}

/// The findings of a severity that the user has not accepted.
fn findings(verdict: &StoreVerdict, severity: Severity) -> impl Iterator<Item = &Finding> {
    let all = verdict.findings.iter();
    all.filter(move |finding| finding.severity == severity && !finding.accepted)
}
