//! The table of a run: how often each fault bit.

use std::time::Duration;

use dlock_verify::chaos::{Plan, RunReport};

use crate::say::say;

pub(super) fn say_table(store: &str, plan: &Plan, report: &RunReport, took: Duration) {
    let strikes: u64 = report.bites.values().map(|bites| bites.strikes).sum();
    let (grants, seconds) = (report.counts.grants, took.as_secs());
    let seed = plan.seed;
    say(
        store,
        &format!("seed {seed:x}: {grants} grants, {strikes} faults, {seconds} s"),
    );
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
    for (fault, bites) in &report.bites {
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

fn line([fault, rest @ ..]: [String; 8]) -> String {
    let rest = rest.map(|cell| format!("{cell:>10}"));
    format!("  {fault:<20}{}", rest.concat())
}
