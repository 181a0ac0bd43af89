//! The tables of a run: where its time went, what was open, and how often each fault bit.

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
    say(
        store,
        &format!("  of these: {}", spent.collect::<Vec<_>>().join(", ")),
    );
    if let Some((first, last)) = report.first_and_last() {
        say_open(store, first, last);
    }
    say_faults(store, &report.bites);
}

/// What workers and servers had open after a tenth of a run, and at its end.
pub(super) fn say_open(store: &str, first: &Settled, last: &Settled) {
    say(store, &format!("  after a tenth: {}", open(first)));
    say(store, &format!("  at the end:    {}", open(last)));
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

/// The most that a worker has open, and the connections at the servers.
fn open(settled: &Settled) -> String {
    let resources = &settled.resources;
    let connections = settled.connections.map_or_else(
        || "unknown".to_owned(),
        |connections| connections.to_string(),
    );
    format!(
        "{} KiB, {} descriptors, {} threads, {} tasks; {connections} connections at the servers",
        resources.memory_kib, resources.descriptors, resources.threads, resources.tasks
    )
}

fn line([fault, rest @ ..]: [String; 8]) -> String {
    let rest = rest.map(|cell| format!("{cell:>10}"));
    format!("  {fault:<20}{}", rest.concat())
}
