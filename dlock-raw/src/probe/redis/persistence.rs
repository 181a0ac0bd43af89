//! Persistence: what a restart forgets.

use super::{
    checks,
    facts::Facts,
    given::{Given, in_url},
    info::Info,
};
use crate::probe::{count::count, finding::Severity, report::Report};

pub(super) fn judge(facts: &Facts, info: &Info, given: &Given, report: &mut Report) {
    let has_log = info.text("aof_enabled") == "1";
    judge_restart(facts, has_log, given, report);
    judge_empty(facts, info, has_log, given, report);
    judge_snapshot(facts, info, report);
}

/// Whether a restart that forgets locks is waited for.
fn judge_restart(facts: &Facts, has_log: bool, given: &Given, report: &mut Report) {
    let found = match (has_log, facts.setting("appendfsync")) {
        (false, _) => "appendonly no".to_owned(),
        (true, Ok("always")) => return report.note(&checks::RESTART, None),
        (true, Ok(sync)) => format!("appendfsync {sync}"),
        // With the guard it does not matter.
        (true, Err(_)) if given.is_guarded() => return report.note(&checks::RESTART, None),
        (true, Err(refusal)) => return refusal.note(&checks::RESTART, report),
    };
    let wanted = "appendonly yes and appendfsync always, or a restart_guard";
    let finding = if given.is_guarded() {
        let guard = given.restart_guard.as_secs_f64();
        let effect = format!(
            "covered by restart_guard {guard} s: no grant before the former locks have expired"
        );
        facts
            .finds(&checks::RESTART, Severity::Covered, found, wanted)
            .effect(effect)
    } else {
        let advice = match given.restart_guard.is_zero() {
            true => checks::RESTART.advice.to_owned(),
            false => format!("restart_guard={} in the URL", in_url(given.ttl)),
        };
        facts
            .finds(&checks::RESTART, Severity::Warning, found, wanted)
            .advice(advice)
    };
    report.note(&checks::RESTART, Some(finding));
}

/// A primary that restarts without data, before it is replaced, makes its replicas forget theirs.
fn judge_empty(facts: &Facts, info: &Info, has_log: bool, given: &Given, report: &mut Report) {
    let replicas: u64 = info.number("connected_slaves").unwrap_or(0);
    if has_log || replicas == 0 {
        return report.note(&checks::EMPTY_PRIMARY, None);
    }
    match facts.setting("save") {
        Ok("") => {}
        Ok(_) => return report.note(&checks::EMPTY_PRIMARY, None),
        Err(refusal) => return refusal.note(&checks::EMPTY_PRIMARY, report),
    }
    let found = format!("no persistence, {}", count(replicas, "replica"));
    let wanted = "appendonly yes";
    let finding = if given.is_guarded() {
        facts.finds(&checks::EMPTY_PRIMARY, Severity::Warning, found, wanted)
    } else {
        facts
            .finds(&checks::EMPTY_PRIMARY, Severity::Danger, found, wanted)
            .effect("a restart empties the replicas, too: all locks are forgotten")
    };
    report.note(&checks::EMPTY_PRIMARY, Some(finding));
}

/// A server that cannot write its snapshot may refuse all writes.
fn judge_snapshot(facts: &Facts, info: &Info, report: &mut Report) {
    let state = info.text("rdb_last_bgsave_status");
    if state != "err" {
        return report.note(&checks::SNAPSHOT, None);
    }
    let (found, severity) = match facts.setting("stop-writes-on-bgsave-error") {
        Ok("no") => ("err; writes go on", Severity::Note),
        Ok(_) => ("err; writes are refused", Severity::Danger),
        Err(_) => ("err", Severity::Warning),
    };
    let finding = facts.finds(&checks::SNAPSHOT, severity, found, "ok");
    report.note(&checks::SNAPSHOT, Some(finding));
}
