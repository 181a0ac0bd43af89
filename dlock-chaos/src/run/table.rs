//! The tables of a run: where its time went, how often each fault bit, and what was open.

use std::{collections::BTreeMap, time::Duration};

use dlock_verify::chaos::{Bites, Plan, RunReport, Settled};

use crate::say::say;

pub(super) fn say_table(store: &str, plan: &Plan, report: &RunReport, took: Duration) {
    let strikes: u64 = report.bites.values().map(|bites| bites.strikes).sum();
    let (grants, seconds) = (report.counts.grants, took.as_secs());
    let seed = plan.seed;
    say(
        store,
        &format!("seed {seed:x}: {grants} grants, {strikes} faults, {seconds} s"),
    );
    let spent = report.spent.iter();
    let spent = spent.map(|(phase, time)| format!("{phase:?} {} s", time.as_secs()).to_lowercase());
    let spent: Vec<_> = spent.collect();
    say(store, &format!("  of these: {}", spent.join(", ")));
    say_faults(store, &report.bites);
    if let Some((tenth, end)) = report.tenth_and_end() {
        say_open(store, tenth, end);
    }
}

/// How often each fault bit.
pub(super) fn say_faults(store: &str, faults: &BTreeMap<String, Bites>) {
    let words = [
        "fault",
        "struck",
        "bit",
        "lost",
        "no answer",
        "stale",
        "reconnects",
        "grants",
    ];
    say(store, &line(words.map(str::to_owned)));
    for (fault, bites) in faults {
        let counts = bites.counts;
        let numbers = [
            bites.strikes,
            bites.bites,
            counts.lost,
            counts.unanswered,
            counts.stale,
            bites.connections,
            counts.grants,
        ];
        let [a, b, c, d, e, f, g] = numbers.map(|number| number.to_string());
        say(store, &line([fault.clone(), a, b, c, d, e, f, g]));
    }
}

/// The resources of the worker that has most, and the servers' connections.
pub(super) fn say_open(store: &str, tenth: &Settled, end: &Settled) {
    for (when, settled) in [("a tenth", tenth), ("the end", end)] {
        let open = &settled.resources;
        let connections = settled
            .connections
            .map_or_else(|| "?".to_owned(), |all| all.to_string());
        let text = format!(
            "open at {when}: {} KiB, {} descriptors, {} threads, {} tasks, {connections} connections of all",
            open.memory_kib, open.descriptors, open.threads, open.tasks
        );
        say(store, &text);
    }
}

fn line([fault, rest @ ..]: [String; 8]) -> String {
    let rest = rest.map(|cell| format!("{cell:>10}"));
    format!("  {fault:<20}{}", rest.concat())
}
