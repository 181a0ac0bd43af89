//! A failover to a replica that lags, and back.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use dlock_servers::{
    SetClock,
    mysql::{Flavour, Node, Options},
};
use dlock_verify::{
    chaos::{Fault, Site},
    proxy::{End, Proxy},
    support::Outcome,
};
use tokio::{sync::Mutex, time::sleep};

/// The servers behind the front.
const PRIMARY: usize = 0;
const REPLICA: usize = 1;

/// The tables that a grant depends on.
const TABLES: [&str; 2] = ["locks.dlock_locks", "locks.dlock_epoch"];

/// The address of the primary, which may change.
pub(super) struct Front {
    proxy: Proxy,
    leads_to: Arc<AtomicUsize>,
}

impl Front {
    pub(super) fn start(servers: &[SocketAddr]) -> io::Result<Self> {
        let leads_to = Arc::new(AtomicUsize::new(PRIMARY));
        let (current, servers) = (leads_to.clone(), servers.to_vec());
        let proxy = Proxy::switch(move |_| servers.get(current.load(Ordering::Relaxed)).copied())?;
        Ok(Self { proxy, leads_to })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.proxy.address()
    }

    /// From now on, and for all clients.
    fn lead_to(&self, server: usize) {
        self.leads_to.store(server, Ordering::Relaxed);
        self.proxy.end(End::Reset);
    }
}

/// A primary, and a replica that follows it.
pub(super) async fn pair(flavour: Flavour, clock: &SetClock) -> Outcome<(Node, Node)> {
    let start = async |id| {
        let options = Options {
            // By rows, so that the replica gets whole rows also after it was the primary itself.
            arguments: ["--log-bin=log", "--binlog-format=ROW", id]
                .map(str::to_owned)
                .into(),
            clock: Some(clock.clone()),
        };
        let node = Node::start(flavour, &options).await?;
        node.query("GRANT REPLICATION SLAVE ON *.* TO app").await?;
        Outcome::Ok(node)
    };
    let (primary, replica) = tokio::try_join!(start("--server-id=1"), start("--server-id=2"))?;
    replica.follow(&primary).await?;
    Ok((primary, replica))
}

/// The replica stops to follow; a ttl later the primary dies, and the replica takes over. Then the way back.
pub(super) struct Failover {
    pub(super) front: Arc<Front>,
    pub(super) primary: Arc<Mutex<Node>>,
    pub(super) replica: Arc<Mutex<Node>>,
}

#[async_trait]
impl Fault for Failover {
    fn id(&self) -> &'static str {
        "failover"
    }

    fn lengths(&self) -> &'static [u32] {
        &[30, 11]
    }

    fn alone(&self) -> bool {
        true
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let mut primary = self.primary.lock().await;
        let replica = self.replica.lock().await;
        replica.stop_following().await?;
        // A start of the primary had ended the replication for a minute, and a rollback for good.
        for table in TABLES {
            replica.copy_table(&primary, table).await?;
        }
        sleep(site.ttl).await;
        primary.kill()?;
        self.front.lead_to(REPLICA);
        site.last().await;
        // It lacks what the replica granted. Its start raises the epoch, and waits for those holders.
        primary.resume().await?;
        self.front.lead_to(PRIMARY);
        replica.follow(&primary).await?;
        Ok(0)
    }
}
