//! Replication: what a failover forgets.

use std::time::Duration;

use super::{
    checks,
    facts::Facts,
    given::{Given, in_url},
    info::Info,
};
use crate::probe::{count::count, finding::Severity, report::Report};

pub(super) fn judge(facts: &Facts, info: &Info, given: &Given, report: &mut Report) {
    let replicas: u64 = info.number("connected_slaves").unwrap_or(0);
    judge_acks(facts, info, replicas, given, report);
    judge_guard(facts, replicas, given, report);
    judge_minimum(facts, info, replicas, given, report);
}

/// Whether replicas confirm grants, and whether there are enough of them.
fn judge_acks(facts: &Facts, info: &Info, replicas: u64, given: &Given, report: &mut Report) {
    let acks = given.min_acks;
    let cut_off = (replicas > 0 && acks == 0).then(|| {
        let found = format!("{}, min_acks=0", count(replicas, "replica"));
        facts.finds(&checks::CUT_OFF, Severity::Warning, found, "min_acks=1")
    });
    report.note(&checks::CUT_OFF, cut_off);
    let online = info.replicas_online();
    let missing = (online < acks).then(|| {
        let found = match online {
            1 => "1 replica follows".to_owned(),
            online => format!("{online} replicas follow"),
        };
        let wanted = format!("min_acks={acks}");
        facts.finds(&checks::MIN_ACKS, Severity::Danger, found, wanted)
    });
    report.note(&checks::MIN_ACKS, missing);
}

/// Whether a promoted replica waits until the locks that it may lack have expired.
fn judge_guard(facts: &Facts, replicas: u64, given: &Given, report: &mut Report) {
    let check = &checks::UNGUARDED;
    if replicas == 0 {
        return report.note(check, None);
    }
    let wanted = format!("failover_guard of {} or more", in_url(given.ttl));
    if given.failover_guard < given.ttl {
        let guard = in_url(given.failover_guard);
        let found = format!("failover_guard {guard}, min_acks={}", given.min_acks);
        let severity = match given.min_acks {
            0 => Severity::Danger,
            // Unlikely then: only if a replica is promoted that did not confirm.
            _ => Severity::Warning,
        };
        // The guard is that of restarts, unless the URL has it.
        let key = match given.has_failover_guard {
            true => "failover_guard",
            false => "restart_guard",
        };
        let finding = facts.finds(check, severity, found, wanted);
        let finding = finding.advice(format!("leave out {key}= in the URL"));
        return report.note(check, Some(finding));
    }
    match facts.setting("repl-backlog-ttl").map(str::parse) {
        // Zero: it is kept for ever.
        Ok(Ok(0)) | Ok(Err(_)) => report.note(check, None),
        Ok(Ok(seconds)) => {
            let kept = Duration::from_secs(seconds);
            let finding = (kept < given.failover_guard).then(|| {
                let found = format!("repl-backlog-ttl {kept:?}");
                let wanted = format!("longer than failover_guard, {:?}", given.failover_guard);
                facts
                    .finds(check, Severity::Warning, found, wanted)
                    .effect("a promoted server without replicas forgets its promotion before the guard has ended")
                    .advice("CONFIG SET repl-backlog-ttl 3600")
            });
            report.note(check, finding);
        }
        Err(refusal) => refusal.note(check, report),
    }
}

/// Whether the server itself refuses writes that no replica gets.
fn judge_minimum(facts: &Facts, info: &Info, replicas: u64, given: &Given, report: &mut Report) {
    let check = &checks::MIN_REPLICAS;
    // The field is there if, and only if, a minimum is set.
    if replicas == 0 || info.has("min_slaves_good_slaves") {
        return report.note(check, None);
    }
    let (severity, effect) = match given.min_acks {
        0 => (Severity::Warning, check.effect.to_owned()),
        acks => (
            Severity::Covered,
            format!("covered by min_acks={acks}: such a primary grants no locks"),
        ),
    };
    let finding = facts.finds(check, severity, 0, "1 or more").effect(effect);
    report.note(check, Some(finding));
}
