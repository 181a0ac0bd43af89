//! `quorum`: a lock in most of three independent Redis servers (`redis-quorum:`).

mod faults;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{Locker, Result};
use dlock_servers::redis::{Flavour, Node};
use dlock_verify::{
    chaos::{Fault, Target, client_side},
    support::Outcome,
};
use tokio::{process::Command, sync::Mutex};

use super::{
    redis::{
        self, commands,
        times::{GUARD, RECONNECT_MAX, TTL},
        wiped::Wiped,
    },
    store::{Started, Store, connect, worker},
};
use crate::faults as of_all;

/// How many servers there are; two of them have to hold a lock.
const NODES: usize = 3;

/// A node that was silent is tried again after a second, and so is one that could not be opened.
const AGAIN_MAX: Duration = Duration::from_secs(2);

pub(super) struct Quorum;

#[async_trait]
impl Store for Quorum {
    fn name(&self) -> &'static str {
        "quorum"
    }

    fn in_ci(&self) -> bool {
        false
    }

    async fn start(&self) -> Outcome<Started> {
        let program = Flavour::RedisNewest.find()?;
        let (mut addresses, mut nodes, mut logs) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..NODES {
            let node = redis::start(&program).await?;
            addresses.push(node.address());
            logs.push(node.process().directory().join("log"));
            nodes.push(Arc::new(Mutex::new(node)));
        }
        let nodes = Arc::new(nodes);
        let target = Arc::new(Servers { addresses, nodes });
        Ok(Started { target, logs })
    }
}

/// Servers that run.
struct Servers {
    addresses: Vec<SocketAddr>,
    nodes: Arc<Vec<Arc<Mutex<Node>>>>,
}

#[async_trait]
impl Target for Servers {
    fn store(&self) -> &str {
        "quorum"
    }

    fn servers(&self) -> Vec<SocketAddr> {
        self.addresses.clone()
    }

    fn url(&self, servers: &[SocketAddr]) -> String {
        let servers: Vec<_> = servers.iter().map(SocketAddr::to_string).collect();
        let (servers, ttl, guard) = (servers.join(","), TTL.as_millis(), GUARD.as_millis());
        format!(
            "redis-quorum://{servers}?ttl={ttl}ms&connect_timeout=1s&timeout=500ms\
             &restart_guard={guard}ms&failover_guard={guard}ms"
        )
    }

    async fn connect(&self, url: &str) -> Result<Locker> {
        connect(url.to_owned()).await
    }

    fn worker(&self) -> Outcome<Command> {
        worker()
    }

    /// Waiters wait at the first node, so the commands of an administrator go there.
    fn faults(&self) -> Vec<Arc<dyn Fault>> {
        let mut faults = client_side(true);
        faults.extend(of_all::of_servers(&self.nodes));
        faults.extend(faults::all(&self.nodes));
        faults.extend(commands::all(&self.nodes[0]));
        faults.push(Arc::new(Wiped(self.nodes.clone())));
        faults
    }

    fn ttl(&self) -> Duration {
        TTL
    }

    fn heal_max(&self) -> Duration {
        GUARD + RECONNECT_MAX + AGAIN_MAX
    }

    /// Of two tries each may get one node, if the third one does not answer.
    fn tries_collide(&self) -> bool {
        true
    }

    async fn connections(&self) -> Option<u64> {
        let mut all = 0;
        for node in &*self.nodes {
            let clients = node.lock().await.info("connected_clients").await;
            all += clients.ok()?.parse::<u64>().ok()?;
        }
        Some(all)
    }
}
