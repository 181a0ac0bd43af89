//! `etcd`: a cluster of three members that requires a login.

pub(super) mod faults;

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{Locker, Result};
use dlock_servers::etcd::{Cluster, Flavour, Login, Node, Options};
use dlock_verify::{
    chaos::{Fault, Load, Target, client_side},
    support::Outcome,
};
use tokio::process::Command;

use super::store::{SMALL, Started, Store, connect, worker};
use crate::{cluster::Members, faults as of_all};

/// The least lease that a cluster with stock settings grants.
const TTL: Duration = Duration::from_secs(2);

/// The password of `root`.
const PASSWORD: &str = "secret";

/// Logins are many, and their price is not what is tested.
const CHEAP_LOGIN: &str = "--bcrypt-cost=4";

/// An election, and the leases that begin again with it.
const ELECTION_MAX: Duration = Duration::from_secs(4);

/// After a fault, clients need so long to connect again.
const RECONNECT_MAX: Duration = Duration::from_secs(3);

pub(super) struct Etcd;

#[async_trait]
impl Store for Etcd {
    fn name(&self) -> &'static str {
        "etcd"
    }

    async fn start(&self) -> Outcome<Started> {
        let (servers, logs) = start().await?;
        Ok(Started {
            target: Arc::new(servers),
            logs,
        })
    }
}

/// A cluster that runs.
pub(super) struct Servers {
    addresses: Vec<SocketAddr>,
    pub(super) members: Arc<Members<Node>>,
}

/// Starts a cluster; its logs are to be kept after a failure.
pub(super) async fn start() -> Outcome<(Servers, Vec<PathBuf>)> {
    let options = Options {
        login: Login::Root(PASSWORD.to_owned()),
        arguments: vec![CHEAP_LOGIN.to_owned()],
        ..Options::default()
    };
    let cluster = Cluster::start(&Flavour::Newest.find()?, &options).await?;
    let addresses = cluster.addresses();
    let (nodes, links) = cluster.into_parts();
    let logs = nodes
        .iter()
        .map(|node| node.process().directory().join("log"));
    let logs = logs.collect();
    let members = Arc::new(Members::new((nodes, links)));
    Ok((Servers { addresses, members }, logs))
}

#[async_trait]
impl Target for Servers {
    fn store(&self) -> &str {
        "etcd"
    }

    fn servers(&self) -> Vec<SocketAddr> {
        self.addresses.clone()
    }

    fn url(&self, servers: &[SocketAddr]) -> String {
        let servers: Vec<_> = servers.iter().map(SocketAddr::to_string).collect();
        let (servers, ttl) = (servers.join(","), TTL.as_secs());
        format!("etcd://root:{PASSWORD}@{servers}?ttl={ttl}s&connect_timeout=1s&timeout=1s")
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
        faults.push(Arc::new(of_all::Rollback(self.members.clone())));
        faults.extend(faults::all(&self.members));
        faults
    }

    fn ttl(&self) -> Duration {
        TTL
    }

    fn heal_max(&self) -> Duration {
        TTL + ELECTION_MAX + RECONNECT_MAX
    }

    /// Three servers share the machine with the clients.
    fn load(&self) -> Load {
        SMALL
    }
}
