//! Two runs, store by store.

use serde::Serialize;

use super::{
    change::{Change, Good},
    limit::{Against, percent},
    warnings::warnings,
};
use crate::data::{Interval, Run, Store};

/// The changes between two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Compared {
    /// The changes, store by store.
    pub changes: Vec<Change>,
    /// The stores that only one of the runs has measured, by their labels.
    pub unmatched: Vec<String>,
    /// The figures of the old run that the new one lacks, each with its store.
    pub missing: Vec<String>,
    /// Why the runs may not be comparable: their order, the machines, the servers.
    pub warnings: Vec<String>,
    /// By how much the same thing differed that was measured twice, in the noisier run.
    pub noise: f64,
}

impl Compared {
    /// Why nothing can be said about a limit, in words: too few numbers, or too much noise. `None` if all is known.
    #[must_use]
    pub fn unknown(&self, limit: f64) -> Option<String> {
        let mut why = Vec::new();
        if !self.missing.is_empty() {
            why.push(format!("not in the new run: {}", self.missing.join("; ")));
        }
        let changes = self.changes.iter();
        let noisy = changes.filter(|change| change.against(limit) == Against::TooNoisy);
        let (noisy, all) = (noisy.count(), self.changes.len());
        if noisy > 0 {
            let limit = percent(limit);
            why.push(format!(
                "{noisy} of {all} figures are too noisy to judge {limit}"
            ));
        }
        (!why.is_empty()).then(|| why.join("; "))
    }

    /// The changes for the worse by more than `bound`: `0.05` is 5 %.
    pub fn worse_by_more_than(&self, bound: f64) -> impl Iterator<Item = &Change> {
        let changes = self.changes.iter();
        changes.filter(move |change| change.against(bound) == Against::Beyond)
    }
}

/// Compares two runs. Stores are matched by their labels.
#[must_use]
pub fn compare(old: &Run, new: &Run) -> Compared {
    let noise = old.noise.same_twice.max(new.noise.same_twice);
    let mut compared = Compared {
        changes: Vec::new(),
        unmatched: Vec::new(),
        missing: Vec::new(),
        warnings: warnings(old, new),
        noise,
    };
    for before in &old.stores {
        let after = new.stores.iter().find(|store| store.label == before.label);
        if after.is_none() {
            compared.unmatched.push(before.label.clone());
        }
        for figure in figures(before) {
            let has = |store: &&Store| {
                figures(store)
                    .into_iter()
                    .find(|one| one.what == figure.what)
            };
            match after.as_ref().and_then(has) {
                Some(now) => {
                    let pair = (figure.value, now.value);
                    let label = &before.label;
                    let change = Change::judge(label, figure.what, pair, figure.good, noise);
                    compared.changes.push(change);
                }
                None => {
                    let missing = format!("{}, {}", before.label, figure.what);
                    compared.missing.push(missing);
                }
            }
        }
    }
    let has = |label: &String| old.stores.iter().any(|store| store.label == *label);
    let labels = new.stores.iter().map(|store| &store.label);
    let only_new = labels.filter(|label| !has(label)).cloned();
    compared.unmatched.extend(only_new);
    compared
}

/// A number that can be compared.
struct Figure {
    what: String,
    value: Interval,
    good: Good,
}

fn figures(store: &Store) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut add = |what: String, value: Option<Interval>, good| {
        figures.extend(value.map(|value| Figure { what, value, good }));
    };
    let cycles = store.cycles.iter().map(|row| (row, ""));
    let new_names = store.new_names.iter().map(|row| (row, ", names used once"));
    for (row, names) in cycles.chain(new_names) {
        let tasks = match row.tasks {
            1 => format!("1 task{names}"),
            tasks => format!("{tasks} tasks{names}"),
        };
        let rate = format!("{tasks}, rate of the driver's");
        add(rate, row.of_floor, Good::High);
        let server = format!("{tasks}, server CPU of the driver's");
        add(server, row.server_cpu_of_floor, Good::Low);
        let client = format!("{tasks}, client CPU of the driver's");
        add(client, row.client_cpu_of_floor, Good::Low);
    }
    let exchanges = store.hand_over.as_ref().and_then(|one| one.exchanges);
    add("hand-over, in exchanges".to_owned(), exchanges, Good::Low);
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Run {
        Run::parse(include_str!("../../tests/data/sample.json")).expect("the sample")
    }

    #[test]
    fn a_run_is_as_good_as_itself() {
        let compared = compare(&sample(), &sample());
        assert!(compared.changes.len() > 30 && compared.unmatched.is_empty());
        let same = |change: &Change| change.judgement == crate::compare::Judgement::Same;
        assert!(compared.changes.iter().all(same));
        assert_eq!(compared.worse_by_more_than(0.0).count(), 0);
    }

    #[test]
    fn a_slower_run_is_worse_by_so_much() {
        let (old, mut new) = (sample(), sample());
        let ratio = new.stores[1].cycles[2].of_floor.as_mut().expect("a ratio");
        for part in [&mut ratio.value, &mut ratio.low, &mut ratio.high] {
            *part *= 0.9;
        }
        let compared = compare(&old, &new);
        let worse: Vec<_> = compared.worse_by_more_than(0.05).collect();
        assert_eq!(worse.len(), 1);
        assert_eq!(
            (&*worse[0].store, &*worse[0].what),
            ("redis", "64 tasks, rate of the driver's")
        );
        assert_eq!(compared.worse_by_more_than(0.11).count(), 0);
        assert!(compared.to_string().contains("worse"), "{compared}");
    }

    #[test]
    fn names_used_once_are_compared_if_both_runs_have_them() {
        let (mut old, new) = (sample(), sample());
        let has = |compared: &Compared| {
            let mut changes = compared.changes.iter();
            changes.any(|change| change.what == "64 tasks, names used once, rate of the driver's")
        };
        assert!(has(&compare(&old, &new)));
        old.stores
            .iter_mut()
            .for_each(|store| store.new_names.clear());
        let compared = compare(&old, &new);
        assert!(!has(&compared) && compared.missing.is_empty(), "{compared}");
        // The other way round a figure is missing.
        let why = compare(&new, &old).unknown(0.05).expect("unknown");
        assert!(
            why.contains("redis, 1 task, names used once, rate"),
            "{why}"
        );
    }

    #[test]
    fn a_store_of_one_run_is_named() {
        let (old, mut new) = (sample(), sample());
        new.stores[0].label = "file-2".to_owned();
        assert_eq!(compare(&old, &new).unmatched, ["file", "file-2"]);
    }

    #[test]
    fn noise_beyond_the_limit_is_no_answer() {
        let (old, mut new) = (sample(), sample());
        assert_eq!(compare(&old, &new).unknown(0.05), None);
        new.noise.same_twice = 0.08;
        let compared = compare(&old, &new);
        let all = compared.changes.len();
        let why = format!("{all} of {all} figures are too noisy to judge 5 %");
        assert_eq!(compared.unknown(0.05), Some(why));
        assert_eq!(compared.unknown(0.1), None);
        let table = compared.within(0.05);
        assert!(table.contains("too noisy to judge 5 %"), "{table}");
    }

    #[test]
    fn a_wide_interval_is_no_answer() {
        let (old, mut new) = (sample(), sample());
        let ratio = new.stores[1].cycles[2].of_floor.as_mut().expect("a ratio");
        (ratio.low, ratio.high) = (ratio.value * 0.8, ratio.value * 1.2);
        let compared = compare(&old, &new);
        let why = compared.unknown(0.05).expect("unknown");
        assert!(why.starts_with("1 of "), "{why}");
    }

    #[test]
    fn what_the_new_run_lacks_is_no_answer() {
        let (old, mut new) = (sample(), sample());
        new.stores[1].cycles.pop();
        let why = compare(&old, &new).unknown(0.05).expect("unknown");
        let expected = "not in the new run: redis, 64 tasks, rate of the driver's; ";
        assert!(why.starts_with(expected), "{why}");
        new.stores.clear();
        assert!(compare(&old, &new).changes.is_empty());
        assert_eq!(compare(&new, &new).unknown(0.05), None, "no figure at all");
    }
}
