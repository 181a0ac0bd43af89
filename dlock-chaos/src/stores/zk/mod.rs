//! `zk`: an ensemble of three servers.

mod faults;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{Locker, Result};
use dlock_servers::zk::{Ensemble, Flavour, Node, Options};
use dlock_verify::{
    chaos::{Fault, Load, Target, client_side},
    support::Outcome,
};
use tokio::process::Command;

use super::store::{SMALL, Started, Store, connect, worker};
use crate::{cluster::Members, faults as of_all};

/// A quarter of the stock tick: what ends by time is waited for often.
const TICK: Duration = Duration::from_millis(500);

/// The time-out of a session. A lock is held for half of it after each proof.
const SESSION: Duration = Duration::from_secs(3);

/// A leader finds out that it has no majority, and the others elect another one.
const ELECTION_MAX: Duration = Duration::from_secs(5);

/// After a fault, clients need so long to connect again.
const RECONNECT_MAX: Duration = Duration::from_secs(3);

pub(super) struct Zk;

#[async_trait]
impl Store for Zk {
    fn name(&self) -> &'static str {
        "zk"
    }

    async fn start(&self) -> Outcome<Started> {
        let java = Flavour::Newest.find()?;
        let ensemble = Ensemble::start(&java, &Options::with_tick(TICK)).await?;
        let (nodes, links) = ensemble.into_parts();
        let addresses = nodes.iter().map(Node::address).collect();
        let logs = nodes
            .iter()
            .map(|node| node.process().directory().join("log"));
        Ok(Started {
            logs: logs.collect(),
            target: Arc::new(Servers {
                addresses,
                members: Arc::new(Members::new((nodes, links))),
            }),
        })
    }
}

/// An ensemble that runs.
struct Servers {
    addresses: Vec<SocketAddr>,
    members: Arc<Members<Node>>,
}

#[async_trait]
impl Target for Servers {
    fn store(&self) -> &str {
        "zk"
    }

    fn servers(&self) -> Vec<SocketAddr> {
        self.addresses.clone()
    }

    fn url(&self, servers: &[SocketAddr]) -> String {
        let servers: Vec<_> = servers.iter().map(SocketAddr::to_string).collect();
        let (servers, ttl) = (servers.join(","), self.ttl().as_millis());
        let (tick, session) = (TICK.as_millis(), SESSION.as_secs());
        format!(
            "zk://{servers}?ttl={ttl}ms&tick={tick}ms&session={session}s&connect_timeout=3s&timeout=1s"
        )
    }

    async fn connect(&self, url: &str) -> Result<Locker> {
        connect(url.to_owned()).await
    }

    fn worker(&self) -> Outcome<Command> {
        worker()
    }

    fn faults(&self) -> Vec<Arc<dyn Fault>> {
        let mut faults = client_side(true);
        faults.extend(of_all::of_members(&self.members));
        faults.extend(faults::all(&self.members, &self.addresses));
        faults
    }

    fn ttl(&self) -> Duration {
        SESSION / 2
    }

    fn heal_max(&self) -> Duration {
        SESSION + ELECTION_MAX + RECONNECT_MAX
    }

    /// Three servers share the machine with the clients.
    fn load(&self) -> Load {
        SMALL
    }
}
