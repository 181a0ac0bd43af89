//! `mysql` and `mariadb`: a server whose clock can be set, with a replica behind the same address.

mod clock;
mod failover;
mod faults;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{Locker, Result};
use dlock_servers::{
    SetClock,
    mysql::{Flavour, Node},
};
use dlock_verify::{
    chaos::{Fault, Load, Target, client_side},
    support::Outcome,
};
use tokio::{process::Command, sync::Mutex};

use self::failover::{Failover, Front};
use super::store::{SMALL, Started, Store, connect, worker};
use crate::faults as of_all;

/// The server counts it in whole seconds.
const TTL: Duration = Duration::from_secs(2);

/// A server that was started grants nothing before the ttl and a second are over, nor in its first two seconds.
const GUARD_MAX: Duration = Duration::from_secs(5);

/// After a fault, clients need so long to connect again.
const RECONNECT_MAX: Duration = Duration::from_secs(4);

#[derive(Clone, Copy, Debug)]
pub(super) enum Sql {
    MySql,
    MariaDb,
}

#[async_trait]
impl Store for Sql {
    fn name(&self) -> &'static str {
        match self {
            Self::MySql => "mysql",
            Self::MariaDb => "mariadb",
        }
    }

    fn in_ci(&self) -> bool {
        matches!(self, Self::MySql)
    }

    async fn start(&self) -> Outcome<Started> {
        let flavour = match self {
            Self::MySql => Flavour::MySqlNewest,
            Self::MariaDb => Flavour::MariaDbStable,
        };
        let clock = SetClock::new()?;
        let (primary, replica) = failover::pair(flavour, &clock).await?;
        let front = Front::start(&[primary.address(), replica.address()])?;
        let nodes = [&primary, &replica];
        Ok(Started {
            logs: nodes
                .map(|node| node.process().directory().join("log"))
                .into(),
            target: Arc::new(Server {
                name: self.name(),
                front: Arc::new(front),
                node: Arc::new(Mutex::new(primary)),
                replica: Arc::new(Mutex::new(replica)),
                clock,
            }),
        })
    }
}

/// A server that runs.
struct Server {
    name: &'static str,
    front: Arc<Front>,
    node: Arc<Mutex<Node>>,
    replica: Arc<Mutex<Node>>,
    clock: SetClock,
}

#[async_trait]
impl Target for Server {
    fn store(&self) -> &str {
        self.name
    }

    fn servers(&self) -> Vec<SocketAddr> {
        vec![self.front.address()]
    }

    fn url(&self, servers: &[SocketAddr]) -> String {
        let (front, ttl) = (self.front.address(), TTL.as_secs());
        let server = Node::url_to(servers.first().copied().unwrap_or(front));
        format!("{server}?ttl={ttl}s&restart_guard={ttl}s&connect_timeout=1s&timeout=1s")
    }

    async fn connect(&self, url: &str) -> Result<Locker> {
        connect(url.to_owned()).await
    }

    fn worker(&self) -> Outcome<Command> {
        worker()
    }

    fn faults(&self) -> Vec<Arc<dyn Fault>> {
        let mut faults = client_side(true);
        faults.extend(of_all::of_servers(&self.node));
        faults.extend(faults::all(&self.node));
        faults.extend(clock::all(&self.node, &self.clock));
        faults.push(Arc::new(Failover {
            front: self.front.clone(),
            primary: self.node.clone(),
            replica: self.replica.clone(),
        }));
        faults
    }

    fn ttl(&self) -> Duration {
        TTL
    }

    fn heal_max(&self) -> Duration {
        GUARD_MAX + RECONNECT_MAX
    }

    fn load(&self) -> Load {
        SMALL
    }

    /// Half of the last ttl: before the server ends them.
    fn idle_max(&self) -> Duration {
        TTL / 2
    }

    async fn connections(&self) -> Option<u64> {
        let count = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE user = 'app'";
        let rows = self.node.lock().await.query(count).await.ok()?;
        rows.first()?.first()?.parse().ok()
    }
}
