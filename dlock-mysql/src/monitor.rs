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
    sql::{
        row::number,
        server::{ServerStart, SessionId},
    },
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
    let unknown = match alive(pool, &holds).await {
        Ok(Some(alive)) => {
            let (unknown, known): (Vec<_>, Vec<_>) = holds
                .into_iter()
                .partition(|hold| alive.has(hold.session).is_none());
            for hold in known {
                if alive.has(hold.session) == Some(false) {
                    hold.attempt.report_lost(LostCause::SessionEnded);
                }
            }
            unknown
        }
        Ok(None) => holds,
        Err(error) => {
            tracing::debug!(%error, "cannot monitor the held locks");
            // The server may be gone, with all sessions, or may have no connection left for the monitor.
            match errors::is_session_over(&error) || errors::is_connection_limit(&error) {
                true => holds,
                false => Vec::new(),
            }
        }
    };
    for hold in unknown {
        let pool = pool.clone();
        // In parallel; a busy connection gets no second request.
        tokio::spawn(async move { hold.check(&pool).await });
    }
}

/// The sessions of one start of a server that are alive.
struct Alive {
    start: ServerStart,
    connections: Vec<u64>,
}

impl Alive {
    /// Whether `session` is alive. `None` if it is one of another server: the address has changed since, and both
    /// servers may be up.
    fn has(&self, session: SessionId) -> Option<bool> {
        // A restarted server reuses the numbers.
        let is_restarted = || session.start.is_of_same_server(self.start).then_some(false);
        match session.start == self.start {
            true => Some(self.connections.contains(&session.connection)),
            false => is_restarted(),
        }
    }
}

/// The sessions that are alive, by a connection to the server of the newest hold if the address leads there. `None` if
/// it does not see even itself: an account may log in under another name than its own.
async fn alive(pool: &Pool, holds: &[Arc<Hold>]) -> Result<Option<Alive>> {
    let ids = holds.iter().map(|hold| hold.session.connection.to_string());
    let ids = ids.collect::<Vec<_>>().join(", ");
    let sql = format!(
        "SELECT id FROM information_schema.processlist WHERE id IN (CONNECTION_ID(), {ids})"
    );
    let Some(newest) = holds.iter().max_by_key(|hold| hold.since) else {
        return Ok(None);
    };
    let (start, since) = (newest.session.start, newest.since);
    let list = move |mut turn: ControlTurn| async move {
        turn.follow(start, since).await?;
        let own = turn.session().ok_or_else(errors::connection_lost)?;
        Ok((own, turn.query(&sql).await?))
    };
    let (own, rows) = pool.sessions()?.run(list).await?;
    let connections: Result<Vec<u64>> = rows.iter().map(|row| number(row, 0)).collect();
    let connections = connections?;
    Ok(connections.contains(&own.connection).then_some(Alive {
        start: own.start,
        connections,
    }))
}
