//! `redis`: one server with an append-only file.

mod clock;
pub(super) mod commands;
pub(super) mod keys;
mod sentinel;
pub(super) mod times;
pub(super) mod wiped;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{Locker, Result};
use dlock_servers::{
    Program, SetClock,
    redis::{Flavour, Node, Options, Persistence},
};
use dlock_verify::{
    chaos::{Fault, Target, client_side},
    support::Outcome,
};
use tokio::{process::Command, sync::Mutex};

use self::times::{GUARD, RECONNECT_MAX, TTL};
use super::store::{Started, Store, connect, worker};
use crate::faults;

pub(super) use self::sentinel::Guarded;

pub(super) struct Redis;

#[async_trait]
impl Store for Redis {
    fn name(&self) -> &'static str {
        "redis"
    }

    async fn start(&self) -> Outcome<Started> {
        let clock = SetClock::new()?;
        let program = Flavour::RedisStable.find()?.under(&clock)?;
        let node = start(&program).await?;
        let logs = vec![node.process().directory().join("log")];
        let (address, node) = (node.address(), Arc::new(Mutex::new(node)));
        Ok(Started {
            target: Arc::new(Server {
                address,
                node,
                clock,
            }),
            logs,
        })
    }
}

/// Starts a server with an append-only file.
pub(super) async fn start(program: &Program) -> io::Result<Node> {
    let options = Options {
        persistence: Persistence::AofEverySecond,
        ..Options::default()
    };
    Node::start(program, &options).await
}

/// A server that runs.
struct Server {
    address: SocketAddr,
    node: Arc<Mutex<Node>>,
    clock: SetClock,
}

#[async_trait]
impl Target for Server {
    fn store(&self) -> &str {
        "redis"
    }

    fn servers(&self) -> Vec<SocketAddr> {
        vec![self.address]
    }

    fn url(&self, servers: &[SocketAddr]) -> String {
        let address = servers.first().unwrap_or(&self.address);
        let (ttl, guard) = (self.ttl().as_millis(), GUARD.as_millis());
        format!(
            "redis://{address}?ttl={ttl}ms&connect_timeout=1s&timeout=500ms\
             &restart_guard={guard}ms&failover_guard={guard}ms&may_evict=true"
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
        faults.extend(faults::of_servers(&self.node));
        faults.extend(commands::all(&self.node));
        faults.extend(keys::all(&self.node));
        faults.extend(clock::all(&self.clock, &self.node));
        faults.push(Arc::new(wiped::Wiped(self.node.clone())));
        faults
    }

    fn ttl(&self) -> Duration {
        TTL
    }

    fn heal_max(&self) -> Duration {
        GUARD + RECONNECT_MAX
    }

    async fn connections(&self) -> Option<u64> {
        let clients = self.node.lock().await.info("connected_clients").await;
        clients.ok()?.parse().ok()
    }
}
