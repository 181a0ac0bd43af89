//! Faults of a cluster: of its leader, of the network between members, and of its majority.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_servers::Links;
use dlock_verify::{
    chaos::{Fault, Site},
    proxy::{Direction, End, Fault as LinkFault, Proxy},
    support::Outcome,
};

use super::rollback::start_all;
use crate::{
    cluster::{Member, Members},
    servers::{Order, Servers as _},
};

pub(super) fn all<M: Member>(members: &Arc<Members<M>>) -> Vec<Arc<dyn Fault>> {
    use What::{
        FollowerCut, LeaderCut, LeaderKill, LeaderStop, LinkOneWay, LinkStalled, QuorumLost,
    };
    let all = [
        LeaderKill,
        LeaderStop,
        LeaderCut,
        FollowerCut,
        LinkOneWay,
        LinkStalled,
        QuorumLost,
    ];
    let all = all.into_iter().map(|what| {
        let members = members.clone();
        Arc::new(ClusterFault { what, members }) as _
    });
    all.collect()
}

struct ClusterFault<M> {
    what: What,
    members: Arc<Members<M>>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    LeaderKill,
    LeaderStop,
    /// Cut off from the other members, both ways; clients still reach it.
    LeaderCut,
    FollowerCut,
    /// The bytes from one member to another one do not arrive.
    LinkOneWay,
    /// As before, from a follower to the leader; then its connections end.
    LinkStalled,
    /// Two of three members are killed.
    QuorumLost,
}

#[async_trait]
impl<M: Member> Fault for ClusterFault<M> {
    fn id(&self) -> &'static str {
        match self.what {
            What::LeaderKill => "leader-kill",
            What::LeaderStop => "leader-stop",
            What::LeaderCut => "leader-cut",
            What::FollowerCut => "follower-cut",
            What::LinkOneWay => "link-one-way",
            What::LinkStalled => "link-stalled",
            What::QuorumLost => "quorum-lost",
        }
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let (members, links) = (&self.members, self.members.links());
        let any = site.choose(members.count());
        // Without a leader any member will do.
        let leader = members.leader().await.unwrap_or(any);
        let others = members.others(leader);
        let follower = others[site.choose(others.len())];
        match self.what {
            What::LeaderKill => {
                self.for_a_while(leader, Order::Kill, Order::Start, site)
                    .await
            }
            What::LeaderStop => {
                self.for_a_while(leader, Order::Stop, Order::Continue, site)
                    .await
            }
            What::LeaderCut => Ok(cut(links, leader, site).await),
            What::FollowerCut => Ok(cut(links, follower, site).await),
            What::LinkOneWay => {
                let (from, to) = if site.choice.is_multiple_of(2) {
                    (leader, follower)
                } else {
                    (follower, leader)
                };
                Ok(one_way(links, from, to, site).await)
            }
            What::LinkStalled => {
                let held = one_way(links, follower, leader, site).await;
                links.link(follower, leader).end(End::Cut);
                links.link(leader, follower).end(End::Cut);
                Ok(held)
            }
            What::QuorumLost => {
                for member in &others {
                    members.order(*member, Order::Kill).await?;
                }
                site.last().await;
                start_all(members, &others).await?;
                Ok(0)
            }
        }
    }
}

impl<M: Member> ClusterFault<M> {
    async fn for_a_while(
        &self,
        member: usize,
        begin: Order,
        end: Order,
        site: &Site,
    ) -> Outcome<u64> {
        self.members.order(member, begin).await?;
        site.last().await;
        self.members.order(member, end).await?;
        Ok(0)
    }
}

/// Returns over how many connections of members bytes were held back.
async fn cut(links: &Links, member: usize, site: &Site) -> u64 {
    links.set(member, LinkFault::Hold);
    site.last().await;
    let others = (0..links.count()).filter(|other| *other != member);
    let ways = others.flat_map(|other| [links.link(member, other), links.link(other, member)]);
    let held = ways.filter(|link| holds_back(link)).count();
    links.set(member, LinkFault::None);
    held as u64
}

/// Returns over how many connections of members bytes were held back.
async fn one_way(links: &Links, from: usize, to: usize, site: &Site) -> u64 {
    links.set_one_way(from, to, LinkFault::Hold);
    site.last().await;
    let ways = [links.link(from, to), links.link(to, from)];
    let held = ways.into_iter().filter(|link| holds_back(link)).count();
    links.set_one_way(from, to, LinkFault::None);
    held as u64
}

/// Whether bytes have arrived at a link and were not passed on.
pub(crate) fn holds_back(link: &Proxy) -> bool {
    [Direction::ToServer, Direction::ToClient]
        .into_iter()
        .any(|way| link.seen(way) > link.passed(way))
}
