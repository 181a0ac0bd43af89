//! A session shows its bounds, the tick, and whether writes are flushed to the disk.
//!
//! A session is a write, and has no nodes. It is ended at once.

use std::{io, time::Duration};

use tokio::time::sleep;

use super::{checks, server::Server, words::WHITELIST};
use crate::{
    driver::zk::Servers,
    probe::{finding::Severity, report::Report},
};

/// Shorter and longer than any session that servers give.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_secs(86_400);

/// The shortest session is two ticks by default.
const TICKS: u32 = 2;

/// How often, and how many times, a server is read until it has flushed the write.
const FLUSH_EVERY: Duration = Duration::from_millis(100);
const FLUSH_READS_MAX: u32 = 10;

/// The settings of dlock that the servers' ones must fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    pub(super) tick: Duration,
    pub(super) session: Duration,
}

/// Begins and ends two sessions, and judges what the servers did.
pub(super) async fn probe(servers: &Servers, found: &[Server], given: Given, report: &mut Report) {
    let mut before = Vec::new();
    for server in found {
        before.push(server.flushes(servers).await);
    }
    let address = &found[0].address;
    let shortest = servers.session(address, SHORTEST).await;
    judge_tick(&found[0], &shortest, given.tick, report);
    match servers.session(address, LONGEST).await {
        Ok(longest) => judge_longest(longest, given.session, report),
        Err(error) => report.no_answer(
            &checks::SESSION_MAX,
            error,
            "a session, which the server did not give",
        ),
    }
    for (server, before) in found.iter().zip(before) {
        judge_flushes(servers, server, before, report).await;
    }
}

/// Compares the servers' tick with the URL's.
fn judge_tick(
    server: &Server,
    shortest: &io::Result<Duration>,
    given: Duration,
    report: &mut Report,
) {
    let tick = server
        .conf
        .as_ref()
        .ok()
        .and_then(|conf| conf.number("tickTime"));
    let Some(tick) = tick.map(Duration::from_millis) else {
        return judge_hidden_tick(shortest, given, report);
    };
    let finding = (tick != given).then(|| {
        let (severity, effect) = if tick > given {
            (Severity::Danger, checks::TICK.effect)
        } else {
            (
                Severity::Note,
                "dlock counts on a longer tick: a dead holder with a short ttl blocks its lock for longer",
            )
        };
        let found = format!("{}{tick:?}", server.label);
        let wanted = format!("{given:?}, by tick= or its default");
        checks::TICK
            .finds(severity, found, wanted)
            .effect(effect)
            .advice(format!("tick={}ms in the URL", tick.as_millis()))
    });
    report.note(&checks::TICK, finding);
}

/// Only the shortest session shows the tick, unless the bounds are set.
fn judge_hidden_tick(shortest: &io::Result<Duration>, given: Duration, report: &mut Report) {
    match shortest {
        Ok(shortest) if *shortest > given * TICKS => {
            let found = format!("the shortest session is {shortest:?}");
            let tick = *shortest / TICKS;
            let advice = format!("tick={}ms in the URL, if it is that", tick.as_millis());
            let wanted = format!("{:?}, two ticks", given * TICKS);
            let finding = checks::TICK
                .finds(Severity::Warning, found, wanted)
                .advice(advice);
            report.note(&checks::TICK, Some(finding));
        }
        Ok(_) => report.no_answer(
            &checks::TICK,
            "the bounds of sessions may hide it",
            WHITELIST,
        ),
        Err(error) => report.no_answer(&checks::TICK, error, WHITELIST),
    }
}

fn judge_longest(longest: Duration, session: Duration, report: &mut Report) {
    let finding = (longest < session).then(|| {
        let wanted = format!("{session:?}, twice the ttl or session=");
        checks::SESSION_MAX.finds(Severity::Warning, format_args!("{longest:?}"), wanted)
    });
    report.note(&checks::SESSION_MAX, finding);
}

/// Waits until a server has flushed the writes, which it does before it confirms them.
async fn judge_flushes(
    servers: &Servers,
    server: &Server,
    before: Result<u64, String>,
    report: &mut Report,
) {
    let check = &checks::NO_FORCE_SYNC;
    let before = match before {
        Ok(before) => before,
        Err(why) => return report.no_answer(check, why, WHITELIST),
    };
    for _ in 0..FLUSH_READS_MAX {
        match server.flushes(servers).await {
            Ok(now) if now > before => return report.note(check, None),
            Ok(_) => sleep(FLUSH_EVERY).await,
            Err(why) => return report.no_answer(check, why, WHITELIST),
        }
    }
    let found = format!("{}no flush after a write", server.label);
    report.note(
        check,
        Some(check.finds(Severity::Danger, found, "forceSync=yes")),
    );
}
