//! The faults that only etcd has: what its administrator does.

use std::{io, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::Clock;
use dlock_servers::etcd::Node;
use dlock_verify::{
    chaos::{Evidence, Fault, Site},
    support::Outcome,
};
use tokio::time::{sleep, timeout};

use crate::{
    cluster::{Member as _, Members},
    servers::Servers as _,
};

/// The directory of all locks.
const PREFIX: &str = "dlock/";

/// The pause between two rounds of compaction.
const COMPACT_EVERY: Duration = Duration::from_millis(100);

/// A member that is stopped is left out.
const COMPACT_MAX: Duration = Duration::from_secs(1);

pub(in crate::stores) fn all(members: &Arc<Members<Node>>) -> Vec<Arc<dyn Fault>> {
    let all = [
        What::MoveLeader,
        What::Compact,
        What::RevokeLease,
        What::NoSpace,
        What::ExpireLogins,
    ];
    let all = all.into_iter().map(|what| {
        let members = members.clone();
        Arc::new(AdminFault { what, members }) as _
    });
    all.collect()
}

struct AdminFault {
    what: What,
    members: Arc<Members<Node>>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// The leader hands the leadership over.
    MoveLeader,
    /// The history is compacted and all members are defragmented, again and again.
    Compact,
    /// The lease of a lock is revoked.
    RevokeLease,
    /// The alarm of a full member: writes are refused.
    NoSpace,
    /// Logins end, as they do after a time.
    ExpireLogins,
}

#[async_trait]
impl Fault for AdminFault {
    fn id(&self) -> &'static str {
        match self.what {
            What::MoveLeader => "move-leader",
            What::Compact => "compact-defrag",
            What::RevokeLease => "lease-revoked",
            What::NoSpace => "no-space",
            What::ExpireLogins => "login-expired",
        }
    }

    fn evidence(&self) -> Evidence {
        match self.what {
            What::NoSpace => Evidence::Clients,
            _ => Evidence::Own,
        }
    }

    /// Two leave something behind: a lock that is lost, and an alarm that has to be ended.
    fn alone(&self) -> bool {
        matches!(self.what, What::RevokeLease | What::NoSpace)
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let members = &self.members;
        if let What::Compact = self.what {
            return Ok(compact(members, site).await);
        }
        // Another fault may be on: without a leader an administrator can do nothing.
        let Some(leader) = members.leader().await else {
            return Ok(0);
        };
        let Ok(node) = members.node(leader).try_lock() else {
            return Ok(0);
        };
        match self.what {
            What::MoveLeader | What::Compact => {
                let others = members.others(leader);
                let other = members.node(others[site.choose(others.len())]);
                let Ok(other) = other.try_lock() else {
                    return Ok(0);
                };
                Ok(node.hand_over(&other).await.is_ok().into())
            }
            What::RevokeLease => revoke(&node, site).await,
            What::NoSpace => {
                node.raise_no_space().await?;
                site.last().await;
                node.end_no_space().await?;
                Ok(0)
            }
            What::ExpireLogins => Ok(node.expire_logins().await.is_ok().into()),
        }
    }
}

/// Returns how often a member was compacted and defragmented.
async fn compact(members: &Members<Node>, site: &Site) -> u64 {
    let (clock, mut done) = (Clock::boottime(), 0);
    let end = clock.now().after(site.length);
    while clock.now() < end {
        for member in 0..members.count() {
            // Another fault may have stopped it.
            if let Ok(node) = members.node(member).try_lock()
                && let Ok(Ok(())) = timeout(COMPACT_MAX, compact_one(&node)).await
            {
                done += 1;
            }
        }
        sleep(COMPACT_EVERY).await;
    }
    done
}

async fn compact_one(node: &Node) -> io::Result<()> {
    node.compact_unless_done().await?;
    node.defragment().await
}

/// Returns whether there was a lock whose lease could be revoked.
async fn revoke(node: &Node, site: &Site) -> Outcome<u64> {
    let leases: Vec<_> = node
        .keys(PREFIX)
        .await?
        .iter()
        .map(|entry| entry.lease)
        .collect();
    let leases: Vec<_> = leases.into_iter().filter(|lease| *lease > 0).collect();
    if leases.is_empty() {
        return Ok(0);
    }
    // It may have ended by itself.
    Ok(node
        .revoke(leases[site.choose(leases.len())])
        .await
        .is_ok()
        .into())
}
