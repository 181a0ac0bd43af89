//! Looks after all that is held, together: a session that the server ended is known at once though
//! nothing reads its socket (T65).

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
    hold::Hold,
    inspect::reply,
    sql::server::{SessionId, number},
};

/// How often it looks while something is held: a hold that is shorter costs nothing.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is held by a locker.
#[derive(Default)]
pub(crate) struct Monitor {
    watched: Lock<Holds>,
}

#[derive(Default)]
struct Holds {
    /// By their sessions: what a session holds next replaces what it held before, so there are never
    /// more than connections.
    held: BTreeMap<SessionId, Weak<Hold>>,
    /// Whether there is a task that looks.
    is_looking: bool,
}

impl Monitor {
    /// Looks after `held` until it is dropped.
    pub(crate) fn watch(self: &Arc<Self>, session: &Arc<Pool>, held: &Arc<Hold>) {
        let mut watched = self.watched.lock();
        watched.held.insert(held.server, Arc::downgrade(held));
        if !std::mem::replace(&mut watched.is_looking, true) {
            drop(watched);
            tokio::spawn(MonitorTask(Some(self.clone())).run(session.clone()));
        }
    }

    /// All that is held.
    pub(crate) fn held(&self) -> Vec<Arc<Hold>> {
        let mut watched = self.watched.lock();
        watched.held.retain(|_, held| held.strong_count() > 0);
        watched.held.values().filter_map(Weak::upgrade).collect()
    }

    /// Whether nothing came meanwhile. If so, the next hold starts another task.
    fn rests(&self) -> bool {
        let mut watched = self.watched.lock();
        watched.is_looking = !watched.held.is_empty();
        !watched.is_looking
    }
}

/// The task that looks. If its runtime ends, the next hold starts another.
struct MonitorTask(Option<Arc<Monitor>>);

impl MonitorTask {
    async fn run(mut self, session: Arc<Pool>) {
        let mut answering: Option<JoinHandle<()>> = None;
        while let Some(monitor) = &self.0 {
            tokio::time::sleep(LOOK_EVERY).await;
            let held = monitor.held();
            if held.is_empty() {
                if monitor.rests() {
                    self.0 = None;
                    return;
                }
                continue;
            }
            // Closed: what is held ends, and tells so by itself.
            if session.is_closed() {
                return;
            }
            // Beside it, one at a time: an answer is a write, which may take its time.
            if answering.as_ref().is_none_or(JoinHandle::is_finished) {
                answering = Some(tokio::spawn(reply::give(session.clone(), held.clone())));
            }
            look(&session, held).await;
        }
    }
}

impl Drop for MonitorTask {
    fn drop(&mut self) {
        if let Some(monitor) = self.0.take() {
            monitor.watched.lock().is_looking = false;
        }
    }
}

async fn look(session: &Arc<Pool>, held: Vec<Arc<Hold>>) {
    let knows_each = match alive(session, &held).await {
        Ok(Some((server, alive))) => {
            for held in &held {
                // The numbers begin anew when a server starts.
                if held.server.boot != server.boot || !alive.contains(&held.server.connection) {
                    held.attempt.report_lost(LostCause::SessionEnded);
                }
            }
            return;
        }
        Ok(None) => true,
        Err(error) => {
            tracing::debug!(%error, "cannot look after what is held");
            // The server may be gone, and with it all sessions, or has no room for one that looks.
            errors::is_session_over(&error) || errors::is_connection_limit(&error)
        }
    };
    if knows_each {
        for held in held {
            let session = session.clone();
            // Beside each other: one that hangs is asked no second time until its answer is overdue.
            tokio::spawn(async move { held.check(&session).await });
        }
    }
}

/// Which of the sessions are there, seen by a session of which server; `None` if it cannot see even itself:
/// an account may log in under another name than the one that it has.
async fn alive(session: &Pool, held: &[Arc<Hold>]) -> Result<Option<(SessionId, Vec<u64>)>> {
    let ids = held.iter().map(|held| held.server.connection.to_string());
    let ids = ids.collect::<Vec<_>>().join(", ");
    let sql = format!(
        "SELECT id FROM information_schema.processlist WHERE id IN (CONNECTION_ID(), {ids})"
    );
    let look = |mut turn: ControlTurn| async move {
        let server = turn.server().ok_or_else(errors::connection_lost)?;
        Ok((server, turn.query(&sql).await?))
    };
    let (server, rows) = session.sessions()?.run(look).await?;
    let alive: Result<Vec<u64>> = rows.iter().map(|row| number(row, 0)).collect();
    let alive = alive?;
    Ok(alive
        .contains(&server.connection)
        .then_some((server, alive)))
}
