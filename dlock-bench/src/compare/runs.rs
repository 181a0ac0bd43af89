//! Two runs, store by store.

use serde::Serialize;

use super::change::{Change, Good, Judgement};
use crate::data::{Interval, Run, Store};

/// The changes between two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Compared {
    /// The changes, store by store.
    pub changes: Vec<Change>,
    /// The stores that only one of the runs has measured, by their labels.
    pub unmatched: Vec<String>,
    /// By how much the same thing differed that was measured twice, in the noisier run.
    pub noise: f64,
}

impl Compared {
    /// The changes for the worse by more than `bound`: `0.05` is 5 %.
    pub fn worse_by_more_than(&self, bound: f64) -> impl Iterator<Item = &Change> {
        let changes = self.changes.iter();
        changes
            .filter(move |change| change.judgement == Judgement::Worse && change.worse_by > bound)
    }
}

/// Compares two runs. Stores are matched by their labels.
#[must_use]
pub fn compare(old: &Run, new: &Run) -> Compared {
    let noise = old.noise.same_twice.max(new.noise.same_twice);
    let mut compared = Compared {
        changes: Vec::new(),
        unmatched: Vec::new(),
        noise,
    };
    for before in &old.stores {
        match new.stores.iter().find(|store| store.label == before.label) {
            Some(after) => compared.changes.extend(changes(before, after, noise)),
            None => compared.unmatched.push(before.label.clone()),
        }
    }
    let has = |label: &String| old.stores.iter().any(|store| store.label == *label);
    let labels = new.stores.iter().map(|store| &store.label);
    let only_new = labels.filter(|label| !has(label)).cloned();
    compared.unmatched.extend(only_new);
    compared
}

fn changes(old: &Store, new: &Store, noise: f64) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut add = |what: String, pair: (Option<Interval>, Option<Interval>), good| {
        if let (Some(before), Some(after)) = pair {
            let change = Change::judge(&old.label, what, (before, after), good, noise);
            changes.push(change);
        }
    };
    for before in &old.cycles {
        let same = |row: &&crate::data::Cycles| row.tasks == before.tasks;
        let Some(after) = new.cycles.iter().find(same) else {
            continue;
        };
        let tasks = match before.tasks {
            1 => "1 task".to_owned(),
            tasks => format!("{tasks} tasks"),
        };
        let rates = (before.of_floor, after.of_floor);
        add(format!("{tasks}, rate of the floor's"), rates, Good::High);
        let server = (before.server_cpu_of_floor, after.server_cpu_of_floor);
        add(
            format!("{tasks}, server CPU of the floor's"),
            server,
            Good::Low,
        );
        let client = (before.client_cpu_of_floor, after.client_cpu_of_floor);
        add(
            format!("{tasks}, client CPU of the floor's"),
            client,
            Good::Low,
        );
    }
    let exchanges = |store: &Store| store.hand_over.as_ref().and_then(|one| one.exchanges);
    let pair = (exchanges(old), exchanges(new));
    add("hand-over, in exchanges".to_owned(), pair, Good::Low);
    changes
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
        let same = |change: &Change| change.judgement == Judgement::Same;
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
            ("redis", "64 tasks, rate of the floor's")
        );
        assert_eq!(compared.worse_by_more_than(0.11).count(), 0);
        assert!(compared.to_string().contains("worse"), "{compared}");
    }

    #[test]
    fn a_store_of_one_run_is_named() {
        let (old, mut new) = (sample(), sample());
        new.stores[0].label = "file-2".to_owned();
        assert_eq!(compare(&old, &new).unmatched, ["file", "file-2"]);
    }
}
