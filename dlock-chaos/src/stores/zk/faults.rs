//! The faults that only ZooKeeper has.

use std::{fs, net::SocketAddr, path::Path, sync::Arc};

use async_trait::async_trait;
use dlock_servers::zk::Node;
use dlock_verify::{
    chaos::{Evidence, Fault, Site},
    support::Outcome,
};
use tokio::time::timeout;
use zookeeper_client::Client;

use crate::{
    cluster::Members,
    faults::{Rollback, start_all},
    servers::{Order, Servers as _},
};

/// The directory of all locks.
const ROOT: &str = "/dlock";

/// The number of the ensemble's leadership, which is the upper half of each transaction's.
const EPOCHS: [&str; 2] = ["acceptedEpoch", "currentEpoch"];

pub(super) fn all(members: &Arc<Members<Node>>, addresses: &[SocketAddr]) -> Vec<Arc<dyn Fault>> {
    let admin = |what| {
        let (members, addresses) = (members.clone(), addresses.to_vec());
        Arc::new(AdminFault {
            what,
            members,
            addresses,
        }) as Arc<dyn Fault>
    };
    vec![
        admin(What::CloseSession),
        admin(What::RemoveContainers),
        Arc::new(PutBack {
            rollback: Rollback(members.clone()),
            addresses: addresses.to_vec(),
        }),
        Arc::new(SetUpAnew(members.clone())),
    ]
}

struct AdminFault {
    what: What,
    members: Arc<Members<Node>>,
    addresses: Vec<SocketAddr>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// The session of a holder or waiter is closed.
    CloseSession,
    /// The directories of free locks are removed, as the servers do after a while.
    RemoveContainers,
}

#[async_trait]
impl Fault for AdminFault {
    fn id(&self) -> &'static str {
        match self.what {
            What::CloseSession => "session-closed",
            What::RemoveContainers => "container-removed",
        }
    }

    fn evidence(&self) -> Evidence {
        Evidence::Own
    }

    /// An administrator needs a majority.
    fn alone(&self) -> bool {
        true
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let client = connect(&self.addresses).await?;
        match self.what {
            What::CloseSession => {
                let sessions = sessions(&client).await?;
                if sessions.is_empty() {
                    return Ok(0);
                }
                let session = sessions[site.choose(sessions.len())];
                Ok(end_session(&self.members, session).await.into())
            }
            What::RemoveContainers => {
                let mut removed = 0;
                let removing = async {
                    loop {
                        removed += remove_empty(&client).await?;
                    }
                };
                // It goes on until then.
                match timeout(site.length, removing).await {
                    Ok(failed) => failed,
                    Err(_) => Ok(removed),
                }
            }
        }
    }
}

async fn connect(addresses: &[SocketAddr]) -> Outcome<Client> {
    let addresses: Vec<_> = addresses.iter().map(SocketAddr::to_string).collect();
    Ok(Client::connect(&addresses.join(",")).await?)
}

/// The sessions of all holders and waiters.
async fn sessions(client: &Client) -> Outcome<Vec<i64>> {
    let mut sessions = Vec::new();
    for lock in client.list_children(ROOT).await? {
        let directory = format!("{ROOT}/{lock}");
        // A directory or a node may be gone by now.
        for node in client.list_children(&directory).await.unwrap_or_default() {
            let stat = client.check_stat(&format!("{directory}/{node}")).await?;
            sessions.extend(stat.map(|stat| stat.ephemeral_owner));
        }
    }
    sessions.retain(|session| *session != 0);
    Ok(sessions)
}

/// Whether a session was closed. A server refuses while the session moves to another one.
async fn end_session(members: &Members<Node>, session: i64) -> bool {
    for server in 0..members.count() {
        let node = members.node(server).lock().await;
        if node.end_session(session).await.is_ok() {
            return true;
        }
    }
    false
}

/// Removes the directories that are empty: how many those were.
async fn remove_empty(client: &Client) -> Outcome<u64> {
    let mut removed = 0;
    for lock in client.list_children(ROOT).await? {
        // The servers themselves remove none of these two.
        if !lock.starts_with('%') {
            let gone = client.delete(&format!("{ROOT}/{lock}"), None).await;
            removed += u64::from(gone.is_ok());
        }
    }
    Ok(removed)
}

/// All servers get older data: nodes that were deleted are there again, and their sessions may live.
struct PutBack {
    rollback: Rollback<Members<Node>>,
    addresses: Vec<SocketAddr>,
}

#[async_trait]
impl Fault for PutBack {
    fn id(&self) -> &'static str {
        self.rollback.id()
    }

    fn alone(&self) -> bool {
        true
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        self.rollback.strike(site).await
    }

    /// Closes the sessions of all nodes in queues.
    async fn mend(&self) -> Outcome {
        for session in sessions(&connect(&self.addresses).await?).await? {
            end_session(&self.rollback.0, session).await;
        }
        Ok(())
    }
}

/// All servers start with nothing, and later a second time: with the number of the leadership that they had at first.
/// So tokens are smaller than before for a while only.
struct SetUpAnew(Arc<Members<Node>>);

#[async_trait]
impl Fault for SetUpAnew {
    fn id(&self) -> &'static str {
        "set-up-anew"
    }

    /// Clients that have seen more transactions are refused until their sessions have ended.
    fn lengths(&self) -> &'static [u32] {
        &[60, 30]
    }

    fn alone(&self) -> bool {
        true
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let epoch = fs::read_to_string(self.data(0).await.join(EPOCHS[0]))?;
        self.start_empty(None).await?;
        site.last().await;
        self.start_empty(Some(epoch.trim())).await?;
        Ok(0)
    }
}

impl SetUpAnew {
    async fn start_empty(&self, epoch: Option<&str>) -> Outcome {
        let each: Vec<_> = (0..self.0.count()).collect();
        for server in &each {
            self.0.order(*server, Order::Kill).await?;
        }
        for server in &each {
            let data = self.data(*server).await;
            fs::remove_dir_all(&data)?;
            if let Some(epoch) = epoch {
                write_epoch(&data, epoch)?;
            }
        }
        start_all(&self.0, &each).await
    }

    /// Where a server keeps its transactions.
    async fn data(&self, server: usize) -> std::path::PathBuf {
        self.0.directory(server).await.join("data/version-2")
    }
}

fn write_epoch(data: &Path, epoch: &str) -> Outcome {
    fs::create_dir_all(data)?;
    for file in EPOCHS {
        fs::write(data.join(file), epoch)?;
    }
    Ok(())
}
