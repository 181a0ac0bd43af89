//! Connections that were abandoned, and whose requests the server may still execute.

use std::{sync::MutexGuard, time::Duration};

use dlock_core::{BootInstant, Clock, toolkit::Lock};
use redis::RedisResult;

use super::driver::DriverConnection;
use crate::conn::probe::ClientId;

/// The longest delay of a request without a reply: a stopped server or the network may keep it as long. TCP
/// gives up after about as long.
pub(crate) const DELAY_MAX: Duration = Duration::from_secs(15 * 60);

/// The bound on abandoned connections. Each new connection kills them, so there are more only while
/// connections end as soon as they are made.
const ABANDONED_MAX: usize = 16;

/// The abandoned connections of one node, each for [`DELAY_MAX`].
pub(super) struct Abandoned {
    clock: Clock,
    connections: Lock<Vec<Connection>>,
}

#[derive(Clone, PartialEq)]
struct Connection {
    client: ClientId,
    since: BootInstant,
}

impl Abandoned {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            connections: Lock::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.live().is_empty()
    }

    pub(super) fn add(&self, client: ClientId) {
        let since = self.clock.now();
        let mut connections = self.live();
        connections.push(Connection { client, since });
        let surplus = connections.len().saturating_sub(ABANDONED_MAX);
        connections.drain(..surplus);
    }

    /// Kills the connections to the server behind a new connection, `client`. Connections to another server
    /// stay: it may come back.
    pub(super) async fn kill_all(
        &self,
        client: &ClientId,
        connection: &mut DriverConnection,
    ) -> RedisResult<()> {
        let abandoned = self.live().clone();
        for former in abandoned {
            if former.client.is_of_same_run(client) {
                former.client.kill(connection).await?;
                // Not before: if this connection fails, the next one kills it.
                self.live().retain(|other| *other != former);
            }
        }
        Ok(())
    }

    /// The connections whose requests may still be executed.
    fn live(&self) -> MutexGuard<'_, Vec<Connection>> {
        let mut connections = self.connections.lock();
        let now = self.clock.now();
        connections.retain(|connection| now.since(connection.since) < DELAY_MAX);
        connections
    }
}
