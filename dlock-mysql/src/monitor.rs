//! Monitoring of held locks: one query for all finds sessions that the server has ended (K8).
//!
//! No task reads their sockets, so the end would otherwise be noticed at the next renewal.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::Duration,
};

use dlock_core::{LostCause, Result, toolkit::Lock};
use tokio::task::JoinHandle;

use crate::{
    conn::{control::ControlTurn, pool::Pool},
    errors,
    hold::handle::Hold,
    inspect::reply,
    sql::{row::number, server::SessionId},
};

/// The pause between two checks.
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// A younger hold is left to the next check: that is early enough (K8), and short holds cost the server none.
const CHECKED_FROM: Duration = Duration::from_millis(50);

/// The held locks of a locker, and the task that checks them.
#[derive(Default)]
pub(crate) struct Monitor {
    entries: Lock<Entries>,
}

#[derive(Default)]
struct Entries {
    /// The holds, by session: the next hold of a session replaces the one before, so connections bound their
    /// number.
    by_session: BTreeMap<SessionId, Weak<Hold>>,
    /// Whether there is a task.
    is_running: bool,
}

impl Monitor {
    /// Monitors `hold` until it is dropped.
    pub(crate) fn add(self: &Arc<Self>, pool: &Arc<Pool>, hold: &Arc<Hold>) {
        let mut entries = self.entries.lock();
        entries
            .by_session
            .insert(hold.session, Arc::downgrade(hold));
        if !std::mem::replace(&mut entries.is_running, true) {
            drop(entries);
            tokio::spawn(MonitorTask(Some(self.clone())).run(pool.clone()));
        }
    }

    /// All held locks.
    pub(crate) fn holds(&self) -> Vec<Arc<Hold>> {
        let mut entries = self.entries.lock();
        entries.by_session.retain(|_, hold| hold.strong_count() > 0);
        entries
            .by_session
            .values()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// Stops the task if no hold was added; whether it did. The next hold starts another task.
    fn stop(&self) -> bool {
        let mut entries = self.entries.lock();
        entries.is_running = !entries.by_session.is_empty();
        !entries.is_running
    }
}

/// The task. If its runtime ends, the next hold starts another.
struct MonitorTask(Option<Arc<Monitor>>);

impl MonitorTask {
    async fn run(mut self, pool: Arc<Pool>) {
        let mut answering: Option<JoinHandle<()>> = None;
        while let Some(monitor) = &self.0 {
            tokio::time::sleep(CHECK_EVERY).await;
            let mut holds = monitor.holds();
            if holds.is_empty() {
                if monitor.stop() {
                    self.0 = None;
                    return;
                }
                continue;
            }
            // The close ends all holds and reports their loss.
            if pool.is_closed() {
                return;
            }
            // One at a time, in parallel: an answer is a write, which may be slow.
            if answering.as_ref().is_none_or(JoinHandle::is_finished) {
                answering = Some(tokio::spawn(reply::answer_inspections(
                    pool.clone(),
                    holds.clone(),
                )));
            }
            let now = pool.connector.clock.now();
            holds.retain(|hold| now.since(hold.since) >= CHECKED_FROM);
            if !holds.is_empty() {
                check(&pool, holds).await;
            }
        }
    }
}

impl Drop for MonitorTask {
    fn drop(&mut self) {
        if let Some(monitor) = self.0.take() {
            monitor.entries.lock().is_running = false;
        }
    }
}

async fn check(pool: &Arc<Pool>, holds: Vec<Arc<Hold>>) {
    let check_each = match alive(pool, &holds).await {
        Ok(Some((own, alive))) => {
            for hold in &holds {
                // A restarted server reuses the numbers.
                if hold.session.start != own.start || !alive.contains(&hold.session.connection) {
                    hold.attempt.report_lost(LostCause::SessionEnded);
                }
            }
            return;
        }
        Ok(None) => true,
        Err(error) => {
            tracing::debug!(%error, "cannot monitor the held locks");
            // The server may be gone, with all sessions, or may have no connection left for the monitor.
            errors::is_session_over(&error) || errors::is_connection_limit(&error)
        }
    };
    if check_each {
        for hold in holds {
            let pool = pool.clone();
            // In parallel; a busy connection gets no second request.
            tokio::spawn(async move { hold.check(&pool).await });
        }
    }
}

/// The sessions that are alive, and the session that has read them. `None` if it does not see even itself: an
/// account may log in under another name than its own.
async fn alive(pool: &Pool, holds: &[Arc<Hold>]) -> Result<Option<(SessionId, Vec<u64>)>> {
    let ids = holds.iter().map(|hold| hold.session.connection.to_string());
    let ids = ids.collect::<Vec<_>>().join(", ");
    let sql = format!(
        "SELECT id FROM information_schema.processlist WHERE id IN (CONNECTION_ID(), {ids})"
    );
    let list = |mut turn: ControlTurn| async move {
        let own = turn.session().ok_or_else(errors::connection_lost)?;
        Ok((own, turn.query(&sql).await?))
    };
    let (own, rows) = pool.sessions()?.run(list).await?;
    let alive: Result<Vec<u64>> = rows.iter().map(|row| number(row, 0)).collect();
    let alive = alive?;
    Ok(alive.contains(&own.connection).then_some((own, alive)))
}
