//! The verdict on a run: what it broke, what of that is declared, and what it did not prove.

mod counter;
mod effect;
mod growth;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use self::counter::LostCounters;
pub use self::effect::Effect;
use super::{
    faults::WRITES_LATE,
    lag::LAG_MAX,
    run::{RunReport, Struck},
};
use crate::{
    checker::{Facts, Reading, Verdict, Violation, check, lost_updates},
    picture::picture,
};

/// A declared exception: this fault may break this clause of the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Exception {
    /// The id in `docs/contract.md`, such as `redis.key-removed`.
    pub id: String,
    /// The store.
    pub store: String,
    /// The fault that shows it.
    pub fault: String,
    /// The clause that it breaks.
    pub clause: String,
    /// The heading of the backend's README that declares it.
    pub anchor: String,
    /// Another fault that must have struck before, such as one whose effect stays.
    #[serde(default)]
    pub after: Option<String>,
    /// The fault loses the counter of tokens: only a grant before it and a grant after it are out of order, and no
    /// locker is given a token below one of its own.
    #[serde(default)]
    pub lost_counter: bool,
}

impl Exception {
    /// The exception `id` of `store`: `fault` may break `clause`.
    #[must_use]
    pub fn new(id: &str, store: &str, fault: &str, clause: &str, anchor: &str) -> Self {
        let [id, store, fault, clause, anchor] =
            [id, store, fault, clause, anchor].map(str::to_owned);
        Self {
            id,
            store,
            fault,
            clause,
            anchor,
            after: None,
            lost_counter: false,
        }
    }

    /// The row as reports name it: id and fault.
    #[must_use]
    pub fn row(&self) -> String {
        format!("{} ({}) by {}", self.id, self.clause, self.fault)
    }
}

/// One broken promise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The clause, such as `K1`.
    pub clause: &'static str,
    /// When, in nanoseconds on the boot-time clock, if it has a time.
    pub at: Option<u64>,
    /// The violation in words.
    pub text: String,
    /// The card whose fault was on, if one was.
    pub card: Option<u32>,
    /// The attempts around it as a drawing, for the first one.
    pub picture: Option<String>,
}

/// The verdict on a run.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Judgement {
    /// Broken promises that no exception declares.
    pub broken: Vec<Finding>,
    /// How often each declared exception was seen, by its row.
    pub declared: BTreeMap<String, u64>,
    /// The effects of each fault that struck.
    pub effects: BTreeMap<String, Effect>,
    /// How many updates the registers lost that compare no tokens.
    pub control_lost: u64,
    /// Faults that never bit.
    pub tame: Vec<String>,
    /// Further reasons to fail.
    pub failures: Vec<String>,
    /// Events that cannot have happened as they were reported, in words. They are among the failures, too: nothing may
    /// be concluded from such a history.
    pub malformed: Vec<String>,
    /// One line for each check of the history.
    pub checked: String,
    /// Checks that the history does not answer, or that the machine was too slow for.
    pub unknown: Vec<Unknown>,
}

/// A check that a history does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unknown {
    /// The clause that is not known, such as `K8`; none for what the run was to show of itself.
    pub clause: Option<&'static str>,
    /// The check, and the reason.
    pub text: String,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Judgement {
    /// Whether nothing undeclared was broken, and everything was proved that had to be.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.broken.is_empty() && self.tame.is_empty() && self.failures.is_empty()
    }
}

/// Judges a run in which `faults` had to bite. An exception covers what is broken while its fault is on and for
/// `window` after it.
#[must_use]
pub fn judge(
    report: &RunReport,
    exceptions: &[&Exception],
    faults: &[&str],
    window: Duration,
) -> Judgement {
    let facts = facts(report);
    let mut judgement = Judgement {
        failures: report.failed.iter().cloned().collect(),
        control_lost: lost_updates(&facts) as u64,
        effects: effect::effects(report, nanos(window)),
        ..Judgement::default()
    };
    let checked = check(&facts, &report.bounds);
    let loses_counter = |struck: &&Struck| {
        let mut exceptions = exceptions.iter();
        exceptions.any(|one| one.lost_counter && one.fault == struck.fault)
    };
    let losses = report.struck.iter().filter(loses_counter).collect();
    let lost_counters = LostCounters::new(&facts, losses);
    for violation in checked.violations() {
        let Some(clause) = violation.check().clause() else {
            judgement.malformed.push(violation.to_string());
            continue;
        };
        let finding = Finding {
            clause,
            at: time(violation),
            text: violation.to_string(),
            ..Finding::default()
        };
        let by_lost_counter = lost_counters.explain(violation);
        judgement.assign(finding, by_lost_counter, report, exceptions, window);
        if let [only] = &mut judgement.broken[..] {
            only.picture
                .get_or_insert_with(|| picture(violation, &facts, &[]));
        }
    }
    judgement.failures.extend(judgement.malformed.clone());
    judgement.add_taken(report, exceptions, window);
    for (check, verdict) in &checked.verdicts {
        if let Verdict::Unknown { reason, .. } = verdict {
            judgement.unknown.push(Unknown {
                clause: check.clause(),
                text: format!("{check}: {reason}"),
            });
        }
    }
    judgement.checked = checked.to_string();
    judgement.add_tame(report, faults);
    let has_tried = report.bites.contains_key(WRITES_LATE) && !report.cut_short;
    if report.bounds.ends_by_time && has_tried && judgement.control_lost == 0 {
        let tame = "the control without tokens lost no update: fencing was not tested";
        judgement.failures.push(tame.to_owned());
    }
    let unexpected = report.unexpected.iter();
    let unexpected = unexpected.map(|error| format!("an acquire failed: {error}"));
    judgement.failures.extend(unexpected);
    judgement.failures.extend(growth::grown(report));
    judgement
}

impl Judgement {
    /// Faults that never bit. In a run whose time was over, one that never struck is only not known.
    fn add_tame(&mut self, report: &RunReport, faults: &[&str]) {
        for fault in faults {
            match report.bites.get(*fault) {
                Some(bites) if bites.bites > 0 => {}
                None if report.cut_short => {
                    let text = format!("{fault} did not strike in the time of the run");
                    self.unknown.push(Unknown { clause: None, text });
                }
                _ => self.tame.push((*fault).to_owned()),
            }
        }
    }

    /// The names that the witness could not take after all faults: known only where the machine was fast enough.
    fn add_taken(&mut self, report: &RunReport, exceptions: &[&Exception], window: Duration) {
        for settled in &report.settled {
            for taken in &settled.taken {
                let text = format!("not free within the store's bound after all faults: {taken}");
                let clause = "K6";
                if settled.lag > LAG_MAX {
                    let text = format!("{text}; the machine was too slow, by {:.0?}", settled.lag);
                    let clause = Some(clause);
                    self.unknown.push(Unknown { clause, text });
                    continue;
                }
                let finding = Finding {
                    clause,
                    at: Some(settled.at),
                    text,
                    ..Finding::default()
                };
                self.assign(finding, false, report, exceptions, window);
            }
        }
    }

    /// Counts a finding for the exception that declares it, or as broken. `by_lost_counter`: whether the loss of a
    /// counter of tokens explains it.
    fn assign(
        &mut self,
        finding: Finding,
        by_lost_counter: bool,
        report: &RunReport,
        exceptions: &[&Exception],
        window: Duration,
    ) {
        let window = nanos(window);
        let was_on = |struck: &&Struck| {
            let at = finding.at.unwrap_or(struck.begin);
            (struck.begin..=struck.end.saturating_add(window)).contains(&at)
        };
        let on: Vec<_> = report.struck.iter().filter(was_on).collect();
        let has_struck = |fault: &String| {
            let mut struck = report.struck.iter();
            struck.any(|one| one.fault == *fault && finding.at.is_none_or(|at| one.begin <= at))
        };
        // The latest fault that is known to do this: the window of one before may last.
        let declared = on.iter().rev().find_map(|struck| {
            exceptions.iter().find(|exception| {
                exception.clause == finding.clause
                    && struck.fault == exception.fault
                    && exception.after.as_ref().is_none_or(has_struck)
                    && (by_lost_counter || !exception.lost_counter)
            })
        });
        let faults: BTreeSet<_> = on.iter().map(|struck| struck.fault.as_str()).collect();
        for fault in faults {
            let effect = self.effects.entry(fault.to_owned()).or_default();
            match declared {
                Some(_) => effect.declared += 1,
                None => effect.broken += 1,
            }
        }
        if let Some(exception) = declared {
            *self.declared.entry(exception.row()).or_default() += 1;
        } else {
            let card = on.last().map(|struck| struck.card);
            self.broken.push(Finding { card, ..finding });
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn facts(report: &RunReport) -> Facts {
    let mut reading = Reading::default();
    report.events.iter().for_each(|event| reading.add(event));
    reading.finish()
}

fn time(violation: &Violation) -> Option<u64> {
    match violation {
        Violation::Overlap { second, .. } | Violation::Tokens { second, .. } => Some(second.from),
        Violation::Starved { free, .. } => Some(free.from),
        Violation::FalselyContended { refused, .. } => Some(refused.ended),
        Violation::Residue { at, .. } | Violation::Effect { at, .. } => Some(*at),
        Violation::LateLoss { due, .. } => Some(*due),
        Violation::Malformed { event } => Some(event.at),
        // A register keeps no times.
        Violation::StaleAccess { .. } | Violation::LostUpdate { .. } => None,
    }
}

#[cfg(test)]
mod tests;
