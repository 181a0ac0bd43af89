//! Looks after all that is held, together: a session that the server ended is known at once though
//! nothing reads its socket (T65), and those who ask who holds a lock are answered.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use dlock_core::{LostCause, Result};

use crate::{
    control::Asking,
    errors,
    held::Held,
    layout::{self, ASKED},
    server::{Server, number},
    session::Session,
};

/// How often it looks while something is held: a hold that is shorter costs nothing.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is held by a locker.
#[derive(Default)]
pub(crate) struct Watcher {
    watched: Mutex<Watched>,
}

#[derive(Default)]
struct Watched {
    /// By their sessions: what a session holds next replaces what it held before, so there are never
    /// more than connections.
    held: BTreeMap<Server, Weak<Held>>,
    /// Whether there is a task that looks.
    is_looking: bool,
}

impl Watcher {
    /// Looks after `held` until it is dropped.
    pub(crate) fn watch(self: &Arc<Self>, session: &Arc<Session>, held: &Arc<Held>) {
        let mut watched = self.watched();
        watched.held.insert(held.server, Arc::downgrade(held));
        if !std::mem::replace(&mut watched.is_looking, true) {
            drop(watched);
            tokio::spawn(Looking(Some(self.clone())).run(session.clone()));
        }
    }

    /// All that is held.
    pub(crate) fn held(&self) -> Vec<Arc<Held>> {
        let mut watched = self.watched();
        watched.held.retain(|_, held| held.strong_count() > 0);
        watched.held.values().filter_map(Weak::upgrade).collect()
    }

    /// Whether nothing came meanwhile. If so, the next hold starts another task.
    fn rests(&self) -> bool {
        let mut watched = self.watched();
        watched.is_looking = !watched.held.is_empty();
        !watched.is_looking
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task that looks. If its runtime ends, the next hold starts another.
struct Looking(Option<Arc<Watcher>>);

impl Looking {
    async fn run(mut self, session: Arc<Session>) {
        while let Some(watcher) = &self.0 {
            tokio::time::sleep(LOOK_EVERY).await;
            let held = watcher.held();
            if held.is_empty() && watcher.rests() {
                self.0 = None;
                return;
            }
            // Closed: what is held ends, and tells so by itself.
            if session.is_closed() {
                return;
            }
            if let Err(error) = look(&session, &held).await {
                tracing::debug!(%error, "cannot look after what is held");
                // The server may be gone, and with it all sessions: their own connections know.
                if errors::ends_session(&error) {
                    for held in &held {
                        held.check(&session).await;
                    }
                }
            }
        }
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        if let Some(watcher) = self.0.take() {
            watcher.watched().is_looking = false;
        }
    }
}

async fn look(session: &Session, held: &[Arc<Held>]) -> Result<()> {
    if held.is_empty() {
        return Ok(());
    }
    let ids = held.iter().map(|held| held.server.connection.to_string());
    let ids = ids.collect::<Vec<_>>().join(",");
    let sql = format!(
        "SELECT id FROM information_schema.processlist WHERE id IN ({ids}); SELECT id, \
         LOWER(HEX(name)) FROM {ASKED} WHERE holder = ''"
    );
    let look = |mut asking: Asking| async move {
        let boot = asking.boot();
        Ok((boot, asking.ask(&sql).await?))
    };
    let (boot, rows) = session.control()?.run(look).await?;
    let mut alive = Vec::new();
    for row in rows.iter().filter(|row| row.len() == 1) {
        alive.push(number(row, 0)?);
    }
    for held in held {
        // The numbers begin anew when a server starts.
        if boot != Some(held.server.boot) || !alive.contains(&held.server.connection) {
            held.attempt.lost(LostCause::SessionOver);
        }
    }
    for row in rows.iter().filter(|row| row.len() == 2) {
        let Some(Some(name)) = row.get(1) else {
            continue;
        };
        let name = format!("x'{name}'");
        if let Some(held) = held.iter().find(|held| layout::literal(&held.row) == name) {
            let holder = held.holder.to_string();
            let (id, holder) = (number(row, 0)?, layout::literal(holder.as_bytes()));
            let answer = format!("UPDATE {ASKED} SET holder = {holder} WHERE id = {id}");
            session.control()?.ask(answer).await?;
        }
    }
    Ok(())
}
