//! Limits and durability: connections, statements, threads and the log.

use std::time::Duration;

use super::{checks, facts::Facts};
use crate::probe::{finding::Severity, report::Report};

/// The connections beside those of held locks: for monitoring and inspecting.
const OTHER_CONNECTIONS: u64 = 2;

/// The statements that each connection prepares.
const PREPARED_EACH: u64 = 2;

/// The settings of dlock that the server must have room for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    pub(super) held_max: u64,
    pub(super) restart_guard: Duration,
}

pub(super) fn judge(facts: &Facts, given: Given, report: &mut Report) {
    let needed = given.held_max + OTHER_CONNECTIONS;
    let room = |limit, used| {
        let (limit, used) = (facts.number(limit)?, facts.number(used)?);
        Some((limit.saturating_sub(used), limit))
    };
    match room("max_connections", "Threads_connected") {
        Some((left, limit)) => {
            let few = (left < needed).then(|| {
                let found = format!("{left} of {limit} are left");
                let wanted = format!("{needed}, for held_max={}", given.held_max);
                checks::CONNECTIONS.finds(Severity::Warning, found, wanted)
            });
            report.note(&checks::CONNECTIONS, few);
        }
        None => report.no_answer(
            &checks::CONNECTIONS,
            "the server has no such numbers",
            "another server",
        ),
    }
    match room("max_prepared_stmt_count", "Prepared_stmt_count") {
        Some((left, limit)) => {
            let few = (left < needed * PREPARED_EACH).then(|| {
                let found = format!("{left} of {limit} are left");
                checks::PREPARED.finds(Severity::Warning, found, needed * PREPARED_EACH)
            });
            report.note(&checks::PREPARED, few);
        }
        None => report.no_answer(
            &checks::PREPARED,
            "the server has no such numbers",
            "another server",
        ),
    }
    let pool = facts.variable("thread_handling");
    let pooled = (pool == "pool-of-threads" || pool == "loaded-dynamically")
        .then(|| checks::THREAD_POOL.finds(Severity::Warning, pool, "one-thread-per-connection"));
    report.note(&checks::THREAD_POOL, pooled);
    judge_durability(facts, report);
    let unguarded = given.restart_guard.is_zero().then(|| {
        checks::UNGUARDED.finds(
            Severity::Warning,
            "restart_guard=0s",
            "30 s, or the longest ttl",
        )
    });
    report.note(&checks::UNGUARDED, unguarded);
}

fn judge_durability(facts: &Facts, report: &mut Report) {
    let flush = facts.variable("innodb_flush_log_at_trx_commit");
    // Only a server with a binary log has another one to flush.
    let has_log = matches!(facts.variable("log_bin"), "ON" | "1");
    let sync = facts.variable("sync_binlog");
    let lazy = if flush != "1" {
        Some(format!("innodb_flush_log_at_trx_commit {flush}"))
    } else if has_log && sync == "0" {
        Some("sync_binlog 0".to_owned())
    } else {
        None
    };
    let lazy = lazy.map(|found| checks::FLUSH.finds(Severity::Warning, found, "1"));
    report.note(&checks::FLUSH, lazy);
}
