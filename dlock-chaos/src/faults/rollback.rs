//! Older data come back: as after a loss of power, from a lagging replica, or from a backup.

use std::{fs, io, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_servers::copy_directory;
use dlock_verify::{
    chaos::{Fault, Site},
    support::{Outcome, within},
};
use tempfile::TempDir;
use tokio::{
    task::{JoinSet, spawn_blocking},
    time::sleep,
};

use crate::{
    cluster::{Member, Members},
    servers::{Order, Servers},
};

/// An election takes at most so long, and its result is read so often.
const LEADER_MAX: Duration = Duration::from_secs(30);
const LEADER_EVERY: Duration = Duration::from_millis(50);

/// How often the leadership is handed over until a member starts with older data.
const HAND_OVERS_MAX: u32 = 5;

/// The log of a server, which goes on.
const LOG: &str = "log";

/// All servers are copied while they are stopped, run on, are killed, and start with the copy.
pub(crate) struct Rollback<S>(pub(crate) Arc<S>);

#[async_trait]
impl<S: Servers> Fault for Rollback<S> {
    fn id(&self) -> &'static str {
        "rollback"
    }

    fn alone(&self) -> bool {
        true
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let servers = &self.0;
        let copies = TempDir::new()?;
        let each = || 0..servers.count();
        for server in each() {
            servers.order(server, Order::Stop).await?;
        }
        for server in each() {
            save(&**servers, server, &copies).await?;
        }
        for server in each() {
            servers.order(server, Order::Continue).await?;
        }
        site.last().await;
        for server in each() {
            servers.order(server, Order::Kill).await?;
        }
        for server in each() {
            put_back(&**servers, server, &copies).await?;
        }
        start_all(servers, &each().collect::<Vec<_>>()).await?;
        Ok(0)
    }
}

/// One member of a cluster gets older data; the others cover it.
pub(super) struct MemberRollback<M>(pub(super) Arc<Members<M>>);

#[async_trait]
impl<M: Member> Fault for MemberRollback<M> {
    fn id(&self) -> &'static str {
        "member-rollback"
    }

    /// The others would not cover it if one of them failed, too.
    fn alone(&self) -> bool {
        true
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let (members, copies) = (&self.0, TempDir::new()?);
        let victim = site.choose(members.count());
        members.order(victim, Order::Stop).await?;
        save(&**members, victim, &copies).await?;
        members.order(victim, Order::Continue).await?;
        site.last().await;
        members.order(victim, Order::Kill).await?;
        put_back(&**members, victim, &copies).await?;
        // A leader that remembers what the victim had makes it end. So does a message of a former leader that is still
        // under way. The victim is back once it has answered a request of its own.
        let mut hand_overs = 0;
        loop {
            hand_over(members, victim).await?;
            hand_overs += 1;
            match start_all(members, &[victim]).await {
                Err(_) if hand_overs < HAND_OVERS_MAX => {}
                started => return started.map(|()| 0),
            }
        }
    }
}

/// Makes another member the leader than the victim and the present one.
async fn hand_over<M: Member>(members: &Members<M>, victim: usize) -> Outcome {
    // Not before the others have a leader: one that has only just been elected may remember the victim, too.
    let elected = within(LEADER_MAX, "a leader of the others", leader(members)).await?;
    let others = members.others(victim);
    if let Some(other) = others.into_iter().find(|one| *one != elected) {
        let (from, to) = (
            members.node(elected).lock().await,
            members.node(other).lock().await,
        );
        from.hand_over(&to).await?;
    }
    Ok(())
}

/// The leader, once there is one.
async fn leader<M: Member>(members: &Members<M>) -> usize {
    loop {
        if let Some(leader) = members.leader().await {
            return leader;
        }
        sleep(LEADER_EVERY).await;
    }
}

/// Copies the data of a server, which is stopped, to the directory with its number.
async fn save(servers: &impl Servers, server: usize, copies: &TempDir) -> Outcome {
    let from = servers.directory(server).await;
    let to = copies.path().join(server.to_string());
    Ok(spawn_blocking(move || copy_directory(&from, &to, &[LOG])).await??)
}

/// Replaces the data of a server, which is killed, by its copy.
async fn put_back(servers: &impl Servers, server: usize, copies: &TempDir) -> Outcome {
    let from = copies.path().join(server.to_string());
    let to = servers.directory(server).await;
    Ok(
        spawn_blocking(move || empty(&to).and_then(|()| copy_directory(&from, &to, &[LOG])))
            .await??,
    )
}

/// Starts these at once: a member of a cluster is not ready before another one is.
pub(crate) async fn start_all<S: Servers>(servers: &Arc<S>, which: &[usize]) -> Outcome {
    let mut starts = JoinSet::new();
    for server in which.iter().copied() {
        let servers = servers.clone();
        starts.spawn(async move { servers.order(server, Order::Start).await });
    }
    while let Some(started) = starts.join_next().await {
        started??;
    }
    Ok(())
}

/// Removes everything but the log.
fn empty(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if entry.file_name() != LOG {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
