//! Load: what makes replies late, or connections fail.

use std::time::Duration;

use super::{
    checks,
    facts::{Event, Facts},
    given::Given,
    info::{Info, fields},
};
use crate::probe::{finding::Severity, report::Report};

/// A pause is too long from this part of the timeout on.
const PAUSE_PART: u32 = 4;

/// The part of `maxclients` from which connections are short.
const CLIENTS_MAX: f64 = 0.9;

/// The percentile of a command's duration that counts.
const PERCENTILE: &str = "p99.9";

pub(super) fn judge(facts: &Facts, info: &Info, given: &Given, report: &mut Report) {
    judge_events(facts, given, report);
    judge_commands(facts, given, report);
    judge_idle(facts, given, report);
    judge_clients(facts, info, report);
}

fn judge_events(facts: &Facts, given: &Given, report: &mut Report) {
    let events = match &facts.events {
        Ok(events) => events,
        Err(refusal) => return refusal.note(&checks::LATENCY, report),
    };
    let allowed = given.timeout / PAUSE_PART;
    let longest = events.iter().max_by_key(|event| event.longest);
    let finding = longest
        .filter(|event| event.longest > allowed)
        .map(|Event { name, longest }| {
            let found = format!("{name}: {longest:?}");
            facts.finds(
                &checks::LATENCY,
                Severity::Warning,
                found,
                format_args!("at most {allowed:?}"),
            )
        });
    report.note(&checks::LATENCY, finding);
}

/// The slowest kind of command, by the server's own statistics.
fn judge_commands(facts: &Facts, given: &Given, report: &mut Report) {
    let commands = match &facts.commands {
        Ok(commands) => commands,
        Err(refusal) => return refusal.note(&checks::SLOW, report),
    };
    let allowed = given.timeout / PAUSE_PART;
    let all = commands.with_prefix("latency_percentiles_usec_");
    let slowest = all
        .filter_map(|(name, line)| Some((percentile(line)?, name)))
        .max();
    let finding = slowest
        .filter(|(duration, _)| *duration > allowed)
        .map(|(duration, name)| {
            let found = format!("{name}: {duration:?} ({PERCENTILE})");
            facts.finds(
                &checks::SLOW,
                Severity::Warning,
                found,
                format_args!("at most {allowed:?}"),
            )
        });
    report.note(&checks::SLOW, finding);
}

/// Whether connections that rest are ended while a lock may be held.
fn judge_idle(facts: &Facts, given: &Given, report: &mut Report) {
    let seconds = match facts.setting("timeout").map(str::parse) {
        Ok(seconds) => seconds.unwrap_or(0),
        Err(refusal) => return refusal.note(&checks::IDLE, report),
    };
    let idle = Duration::from_secs(seconds);
    let finding = (!idle.is_zero() && idle < given.ttl).then(|| {
        let wanted = format!("0, or longer than the ttl, {:?}", given.ttl);
        facts.finds(
            &checks::IDLE,
            Severity::Warning,
            format_args!("{idle:?}"),
            wanted,
        )
    });
    report.note(&checks::IDLE, finding);
}

fn judge_clients(facts: &Facts, info: &Info, report: &mut Report) {
    let now: Option<f64> = info.number("connected_clients");
    let (Some(now), Some(most)) = (now, info.number::<f64>("maxclients")) else {
        return report.no_answer(
            &checks::CLIENTS,
            "INFO clients has no maxclients",
            "a newer server",
        );
    };
    let finding = (now > most * CLIENTS_MAX).then(|| {
        let found = format!("{now} of {most}");
        facts.finds(&checks::CLIENTS, Severity::Warning, found, "at most 90 %")
    });
    report.note(&checks::CLIENTS, finding);
}

/// The percentile of a line `p50=1.003,p99=5.023,p99.9=8.031`, in microseconds.
fn percentile(line: &str) -> Option<Duration> {
    let micros: f64 = fields(line).get(PERCENTILE)?.parse().ok()?;
    Duration::try_from_secs_f64(micros / 1e6).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_in_microseconds() {
        let line = "p50=0.001,p99=1.003,p99.9=2500.500";
        assert_eq!(percentile(line), Some(Duration::from_nanos(2_500_500)));
        assert_eq!(percentile("p50=1"), None);
    }
}
