//! `redis-sentinel` and `redis-unguarded`: a primary with two replicas, watched by Sentinels.
//!
//! Clients get the addresses of servers from Sentinels, so there are no proxies in between.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{Locker, Result};
use dlock_servers::redis::{Flavour, Node, Options, Replicated};
use dlock_verify::{
    chaos::{Fault, Site, Target, client_side},
    support::{Outcome, within},
};
use tokio::{process::Command, sync::Mutex, time::sleep};

use super::times::{GUARD, TTL};
use crate::stores::store::{Started, Store, connect, worker};

/// How many replicas the primary has.
const REPLICAS: usize = 2;

/// Sentinels agree on a new primary, and clients find it, within this.
const FAILOVER_MAX: Duration = Duration::from_secs(15);

/// Sentinels demote a primary that comes back within 10 s; they may be busy.
const DEMOTED_MAX: Duration = Duration::from_secs(60);

/// How often the role of a former primary is read.
const POLL: Duration = Duration::from_millis(50);

/// The clients' guard against a promoted replica that lacks locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stores) enum Guarded {
    /// A guard after a failover, and a replica that must have each grant.
    Yes,
    /// Neither: an exception covers what is forgotten.
    No,
}

#[async_trait]
impl Store for Guarded {
    fn name(&self) -> &'static str {
        match self {
            Self::Yes => "redis-sentinel",
            Self::No => "redis-unguarded",
        }
    }

    fn in_ci(&self) -> bool {
        false
    }

    async fn start(&self) -> Outcome<Started> {
        let program = Flavour::RedisStable.find()?;
        let group = Replicated::start(&program, &Options::default(), REPLICAS).await?;
        let logs = group.nodes().iter();
        let logs = logs
            .map(|node| node.process().directory().join("log"))
            .collect();
        let target = Arc::new(Group {
            guarded: *self,
            sentinels: group.addresses(),
            service: group.name(),
            nodes: Arc::new(Mutex::new(group)),
        });
        Ok(Started { target, logs })
    }
}

/// Servers that run.
struct Group {
    guarded: Guarded,
    sentinels: Vec<SocketAddr>,
    service: &'static str,
    nodes: Arc<Mutex<Replicated>>,
}

#[async_trait]
impl Target for Group {
    fn store(&self) -> &str {
        self.guarded.name()
    }

    fn servers(&self) -> Vec<SocketAddr> {
        Vec::new()
    }

    fn url(&self, _: &[SocketAddr]) -> String {
        let (guard, min_acks) = match self.guarded {
            Guarded::Yes => (GUARD, 1),
            Guarded::No => (Duration::ZERO, 0),
        };
        let (ttl, restart, guard) = (TTL.as_millis(), GUARD.as_millis(), guard.as_millis());
        let sentinels: Vec<_> = self.sentinels.iter().map(ToString::to_string).collect();
        format!(
            "redis-sentinel://{}/{}?ttl={ttl}ms&connect_timeout=2s&timeout=500ms&restart_guard={restart}ms\
             &failover_guard={guard}ms&min_acks={min_acks}",
            sentinels.join(","),
            self.service
        )
    }

    async fn connect(&self, url: &str) -> Result<Locker> {
        connect(url.to_owned()).await
    }

    fn worker(&self) -> Outcome<Command> {
        worker()
    }

    fn faults(&self) -> Vec<Arc<dyn Fault>> {
        let mut faults = client_side(false);
        for what in [What::Planned, What::Killed, What::Stopped] {
            let nodes = self.nodes.clone();
            faults.push(Arc::new(Failover { what, nodes }));
        }
        faults
    }

    fn ttl(&self) -> Duration {
        TTL
    }

    fn heal_max(&self) -> Duration {
        FAILOVER_MAX
    }
}

/// Another server becomes the primary.
struct Failover {
    what: What,
    nodes: Arc<Mutex<Replicated>>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// An administrator moves it.
    Planned,
    /// The primary dies, and comes back as a replica.
    Killed,
    /// The primary stops together with a client, and both go on until it learns better.
    Stopped,
}

#[async_trait]
impl Fault for Failover {
    fn id(&self) -> &'static str {
        match self.what {
            What::Planned => "failover",
            What::Killed => "failover-kill",
            What::Stopped => "failover-stop",
        }
    }

    fn alone(&self) -> bool {
        true
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let mut group = self.nodes.lock().await;
        match self.what {
            What::Planned => {
                group.fail_over().await?;
            }
            What::Killed => {
                let former = group.primary().await?;
                node(&mut group, former)?.kill()?;
                group.until_promoted(former).await?;
                node(&mut group, former)?.resume().await?;
            }
            What::Stopped => {
                let former = group.primary().await?;
                // A client that awaits no reply in the meantime keeps its connection.
                site.workers.stop(site.worker).await?;
                node(&mut group, former)?.stop()?;
                group.until_promoted(former).await?;
                node(&mut group, former)?.cont()?;
                site.workers.resume(site.worker).await?;
                until_demoted(node(&mut group, former)?).await?;
            }
        }
        group.until_complete().await?;
        Ok(1)
    }
}

/// The Sentinel that demotes a primary ends its connections, also this one.
async fn until_demoted(node: &Node) -> Outcome {
    let demoted = async {
        while !node.info("role").await.is_ok_and(|role| role == "slave") {
            sleep(POLL).await;
        }
    };
    within(DEMOTED_MAX, "the former primary is demoted", demoted).await
}

fn node(group: &mut Replicated, index: usize) -> io::Result<&mut Node> {
    let node = group.nodes_mut().get_mut(index);
    node.ok_or_else(|| io::Error::other("no such server"))
}
