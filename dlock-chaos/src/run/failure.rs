//! The promises that a run broke, in at most 30 lines, and how to run it again.

use std::path::Path;

use dlock_verify::chaos::{Finding, Judgement, Plan, RunReport};

use crate::say::say;

/// How many broken promises are shown; the others are like them.
const SHOWN_MAX: usize = 3;

/// How many lines of a drawing are shown.
const PICTURE_MAX: usize = 12;

pub(super) fn say_judgement(
    store: &str,
    plan: &Plan,
    report: &RunReport,
    judgement: &Judgement,
    again: &str,
    search: Option<&Path>,
) {
    for (id, count) in &judgement.declared {
        say(store, &format!("declared: {id} seen {count} times"));
    }
    for unknown in judgement.unknown.iter().take(SHOWN_MAX) {
        say(store, &format!("unknown: {unknown}"));
    }
    for line in judgement.checked.lines() {
        say(store, &format!("  {line}"));
    }
    if judgement.holds() {
        say(store, "holds");
        return;
    }
    for finding in judgement.broken.iter().take(SHOWN_MAX) {
        say_finding(store, plan, report, finding);
    }
    let more = judgement.broken.len().saturating_sub(SHOWN_MAX);
    if more > 0 {
        say(store, &format!("and {more} more"));
    }
    for failure in judgement.failures.iter().take(SHOWN_MAX) {
        say(store, &format!("FAILED: {failure}"));
    }
    if !judgement.tame.is_empty() {
        say(
            store,
            &format!("FAILED: never bit: {}", judgement.tame.join(", ")),
        );
    }
    say(store, &format!("again: cargo xtask chaos {store} {again}"));
    if let Some(file) = search {
        let file = file.display();
        say(store, &format!("search: cargo xtask chaos --replay {file}"));
    }
}

fn say_finding(store: &str, plan: &Plan, report: &RunReport, finding: &Finding) {
    let Finding {
        clause,
        text,
        card,
        picture,
        ..
    } = finding;
    let mut struck = report.struck.iter().rev();
    let fault = struck.find(|struck| Some(struck.card) == *card);
    let fault = fault.map_or_else(
        || "no fault on".to_owned(),
        |struck| format!("fault {}: {}", struck.card, struck.fault),
    );
    say(
        store,
        &format!("{clause} BROKEN (seed {:x}, {fault}): {text}", plan.seed),
    );
    for line in picture
        .iter()
        .flat_map(|picture| picture.lines())
        .take(PICTURE_MAX)
    {
        say(store, &format!("  {line}"));
    }
}
