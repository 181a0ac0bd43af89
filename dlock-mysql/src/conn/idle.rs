//! Idle connections, and the task that closes them before the server does.
//!
//! No task reads their sockets, so an end by the server would go unnoticed.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use dlock_core::{BootInstant, toolkit::Lock};
use tokio::{sync::Notify, task::JoinSet};

use crate::conn::{connect::Connector, connection::Connection};

/// The longest idle time: a server that was restarted or failed over has ended the session without notice.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// The least time between two sweeps.
const SWEEP_MIN: Duration = Duration::from_millis(10);

/// The idle connections of a locker.
pub(crate) struct Idle {
    connector: Arc<Connector>,
    connections: Lock<Connections>,
    /// Notified when the next end is earlier than before, or no connection is left.
    changed: Notify,
}

#[derive(Default)]
struct Connections {
    /// The idle connections, in the order of their last use.
    connections: VecDeque<Connection>,
    /// The time of the task's next sweep; `None` if there is no task.
    next: Option<BootInstant>,
}

impl Idle {
    pub(crate) fn new(connector: Arc<Connector>) -> Self {
        Self {
            connector,
            connections: Lock::default(),
            changed: Notify::new(),
        }
    }

    /// The connection that was used last, unless the server may have ended it.
    pub(crate) fn take(&self) -> Option<Connection> {
        let now = self.connector.clock.now();
        let mut connections = self.connections.lock();
        while let Some(connection) = connections.connections.pop_back() {
            if is_alive(&connection, now) {
                return Some(connection);
            }
        }
        None
    }

    /// Keeps `connection` for another lock, if it may be used again.
    pub(crate) fn put(self: &Arc<Self>, connection: Connection) {
        let mut connections = self.connections.lock();
        // Checked under the lock, which `close` takes after it marks the pool as closed.
        if !connection.is_reusable() || self.connector.is_closed() {
            return;
        }
        let end = end(&connection);
        connections.connections.push_back(connection);
        let next = connections.next;
        if next.is_some_and(|next| next <= end) {
            return;
        }
        connections.next = Some(end);
        // A runtime that ends drops the task at once, and the task takes this lock.
        drop(connections);
        match next {
            None => drop(tokio::spawn(Sweeper(Some(self.clone())).run())),
            Some(_) => self.changed.notify_one(),
        }
    }

    /// Closes all of them.
    pub(crate) async fn close(&self) {
        let connections = std::mem::take(&mut self.connections.lock().connections);
        self.changed.notify_one();
        self.end_all(connections).await;
    }

    /// Takes out the connections that are too old; and when the next one is, `None` if none is left.
    fn sweep(&self) -> (VecDeque<Connection>, Option<BootInstant>) {
        let now = self.connector.clock.now();
        let mut connections = self.connections.lock();
        // Each has the `wait_timeout` of its last hold, so they do not end in the order of their use.
        let (old, young) = std::mem::take(&mut connections.connections)
            .into_iter()
            .partition(|connection| !is_alive(connection, now));
        connections.connections = young;
        connections.next = connections.connections.iter().map(end).min();
        (old, connections.next)
    }

    async fn end_all(&self, connections: impl IntoIterator<Item = Connection>) {
        let request_timeout = self.connector.config.timeouts.reply;
        let ends = connections
            .into_iter()
            .map(|connection| connection.close(request_timeout));
        let mut ends = ends.collect::<JoinSet<_>>();
        // Those that the end of the runtime has cancelled are ended as well.
        while ends.join_next().await.is_some() {}
    }
}

/// Whether the server cannot have ended it yet.
fn is_alive(connection: &Connection, now: BootInstant) -> bool {
    now < end(connection)
}

fn end(connection: &Connection) -> BootInstant {
    let limit = Duration::from_secs(connection.wait_timeout);
    connection.used.after(IDLE_MAX.min(limit / 2))
}

/// The task that closes them, while there are any. If its runtime ends, the next idle connection starts another.
struct Sweeper(Option<Arc<Idle>>);

impl Sweeper {
    async fn run(mut self) {
        while let Some(idle) = &self.0 {
            let (old, next) = idle.sweep();
            let Some(next) = next else {
                // From here on the next idle connection starts another task.
                let idle = self.0.take();
                if let Some(idle) = idle {
                    idle.end_all(old).await;
                }
                return;
            };
            idle.end_all(old).await;
            let clock = &idle.connector.clock;
            let next = next.max(clock.now().after(SWEEP_MIN));
            tokio::select! {
                () = clock.sleep_until(next) => {}
                () = idle.changed.notified() => {}
            }
        }
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        if let Some(idle) = self.0.take() {
            idle.connections.lock().next = None;
        }
    }
}
