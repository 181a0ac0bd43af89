//! Connections that nobody uses at present. The server ends them after a while; they are ended before that,
//! as nothing reads their sockets and would notice.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use dlock_core::{BootInstant, toolkit::Lock};
use tokio::{sync::Notify, task::JoinSet};

use crate::conn::{connect::Connector, connection::Connection};

/// How long one is kept at the most: a server that was restarted or failed over has ended it, and nobody
/// is told.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// How often they are looked at, at the most.
const SWEEP_MIN: Duration = Duration::from_millis(10);

/// The connections of a locker that are idle.
pub(crate) struct Idle {
    connector: Arc<Connector>,
    connections: Lock<Connections>,
    /// The next one ends sooner than was known, or none is left.
    changed: Notify,
}

#[derive(Default)]
struct Connections {
    /// In the order in which they were used.
    connections: VecDeque<Connection>,
    /// When the task that ends them looks again; none if there is no task.
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

    /// The one that was used last, if the server has not ended it meanwhile.
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

    /// Keeps `connection` for the next one, if it may be used again.
    pub(crate) fn keep(self: &Arc<Self>, connection: Connection) {
        let mut connections = self.connections.lock();
        // Looked at with the lock, which closing takes after it.
        if !connection.is_reusable() || self.connector.is_closed() {
            return;
        }
        let end = end(&connection);
        connections.connections.push_back(connection);
        match connections.next {
            None => drop(tokio::spawn(Sweeper(Some(self.clone())).run())),
            Some(next) if next <= end => return,
            Some(_) => self.changed.notify_one(),
        }
        connections.next = Some(end);
    }

    /// Ends all of them.
    pub(crate) async fn close(&self) {
        let connections = std::mem::take(&mut self.connections.lock().connections);
        self.changed.notify_one();
        self.end_all(connections).await;
    }

    /// Takes out those that are too old, and says when the next one will be; `None` if none is left.
    fn sweep(&self) -> (VecDeque<Connection>, Option<BootInstant>) {
        let now = self.connector.clock.now();
        let mut connections = self.connections.lock();
        // Each has the silence of its last hold, so they end in another order than they were used in.
        let (old, young) = std::mem::take(&mut connections.connections)
            .into_iter()
            .partition(|connection| !is_alive(connection, now));
        connections.connections = young;
        connections.next = connections.connections.iter().map(end).min();
        (old, connections.next)
    }

    async fn end_all(&self, connections: impl IntoIterator<Item = Connection>) {
        let request_timeout = self.connector.config.request_timeout;
        let ends = connections
            .into_iter()
            .map(|connection| connection.close(request_timeout));
        ends.collect::<JoinSet<_>>().join_all().await;
    }
}

/// Whether the server has surely not ended it, by its own clock, nor is about to.
fn is_alive(connection: &Connection, now: BootInstant) -> bool {
    now < end(connection)
}

fn end(connection: &Connection) -> BootInstant {
    let silence = Duration::from_secs(connection.wait_timeout);
    connection.used.after(IDLE_MAX.min(silence / 2))
}

/// The task that ends them, while there are any. If its runtime ends, the next one that is kept starts another.
struct Sweeper(Option<Arc<Idle>>);

impl Sweeper {
    async fn run(mut self) {
        while let Some(idle) = &self.0 {
            let (old, next) = idle.sweep();
            let Some(next) = next else {
                // From here on the next one that is kept starts another.
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
