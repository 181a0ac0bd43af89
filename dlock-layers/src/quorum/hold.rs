//! A lock that is held: its renewal and release in all nodes.

use std::{collections::BTreeSet, sync::Arc};

use dlock_core::{
    Effect, Error, ErrorKind, LostCause, Result,
    backend::{Deadline, Lease, Renewed},
    toolkit::Lock,
};
use tokio::task::JoinSet;

use super::{
    gather::gather,
    nodes::Nodes,
    pending::Member,
    refusal::too_few,
    round::{Refusal, Round},
};
use crate::part::Found;

/// The locks of a grant.
#[derive(Debug)]
pub(super) struct Hold {
    pub(super) nodes: Arc<Nodes>,
    pub(super) round: Round,
    pub(super) parts: Lock<Parts>,
}

/// The locks of a grant that are still to be released.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) members: Vec<Member>,
    /// Lost; released with the others, as a node may still have them.
    pub(super) lost: Vec<Member>,
    /// The numbers of nodes that may still be about to execute something of the round.
    pub(super) unclean: BTreeSet<usize>,
    /// The numbers of nodes that have a request of a repair.
    pub(super) requested: BTreeSet<usize>,
    /// Nothing is added after a release began (K4).
    pub(super) is_released: bool,
}

impl Hold {
    pub(super) fn new(
        nodes: Arc<Nodes>,
        round: Round,
        members: Vec<Member>,
        refusals: &[Refusal],
    ) -> Self {
        let unknown = refusals
            .iter()
            .filter(|refusal| refusal.error.effect() == Effect::Unknown);
        let parts = Parts {
            members,
            unclean: unknown.map(|refusal| refusal.number).collect(),
            ..Parts::default()
        };
        Self {
            nodes,
            round,
            parts: Lock::new(parts),
        }
    }

    pub(super) fn of(lease: &Lease) -> Result<&Arc<Self>> {
        let other = "the lease is of another backend";
        lease
            .handle()
            .ok_or_else(|| Error::new(ErrorKind::Internal, other))
    }

    /// Renews all locks at once. It is renewed if `need` nodes say so, and lost if fewer can still have it (K3).
    pub(super) async fn renew(&self) -> Result<Renewed> {
        let need = self.nodes.options.need;
        let members = self.parts.lock().members.clone();
        let mut renewals = JoinSet::new();
        for member in members.iter().cloned() {
            renewals.spawn(async move {
                let found = member.part.renew().await;
                (member, found)
            });
        }
        let (mut deadlines, mut lost, mut unknown) = (Vec::new(), None, None);
        let mut left = members.len();
        let grace = self.nodes.options.node_timeout;
        gather(renewals, grace, |(member, found): (Member, Found)| {
            match found {
                Found::Held => deadlines.push(member.part.deadline()),
                Found::Unknown(error) => unknown = Some(error),
                Found::Lost(cause) => {
                    self.lose(&member, cause);
                    left -= 1;
                    lost = Some(cause);
                }
            }
            deadlines.len() >= need
        })
        .await;
        if left < need {
            return Ok(Renewed::Lost(lost.unwrap_or(LostCause::Removed)));
        }
        let answered = deadlines.len();
        match latest_of_need(deadlines, need) {
            Some(deadline) => Ok(Renewed::Until(deadline)),
            None => Err(too_few(&self.nodes, answered, unknown.as_ref())),
        }
    }

    /// Takes the part of a node out, which has lost it.
    fn lose(&self, member: &Member, cause: LostCause) {
        let mut parts = self.parts.lock();
        let before = parts.members.len();
        parts.members.retain(|other| other.id != member.id);
        if parts.members.len() == before {
            return;
        }
        if cause == LostCause::Expired {
            // By our own clock: the node may still have it.
            parts.unclean.insert(member.slot.number);
        }
        parts.lost.push(member.clone());
        drop(parts);
        self.round.tally.lose(member.id, cause);
    }

    /// Releases all locks at once. The lock is free for others when so few are left that enough nodes are without it;
    /// those are released in the background.
    pub(super) async fn release(&self) -> Result<()> {
        let members = {
            let mut parts = self.parts.lock();
            parts.is_released = true;
            let lost = std::mem::take(&mut parts.lost);
            parts.members.extend(lost);
            parts.members.clone()
        };
        // Ends the requests of a repair, too.
        self.round.request.cancel_nested();
        let mut releases = JoinSet::new();
        for member in members.iter().cloned() {
            releases.spawn(async move {
                let released = member.part.release().await;
                (member, released)
            });
        }
        let unreleased_max = self.nodes.slots.len() - self.nodes.options.need;
        let (grace, mut failed) = (self.nodes.options.node_timeout, None);
        gather(
            releases,
            grace,
            |(member, released): (Member, Result<()>)| {
                let mut parts = self.parts.lock();
                match released {
                    Ok(()) => parts.members.retain(|other| other.id != member.id),
                    Err(error) => failed = Some(error),
                }
                parts.members.len() <= unreleased_max
            },
        )
        .await;
        let mut parts = self.parts.lock();
        if parts.members.len() > unreleased_max {
            let unreleased = parts.members.len();
            drop(parts);
            return Err(failed.unwrap_or_else(|| not_released(unreleased)));
        }
        for member in std::mem::take(&mut parts.members) {
            tokio::spawn(async move { member.part.release_until_it_ends().await });
        }
        Ok(())
    }
}

fn not_released(parts: usize) -> Error {
    let why = format!("the release is not confirmed by {parts} nodes");
    Error::new(ErrorKind::Unavailable, why).with_effect(Effect::Unknown)
}

/// The latest deadline that `need` of `deadlines` reach (K2).
pub(super) fn latest_of_need(mut deadlines: Vec<Deadline>, need: usize) -> Option<Deadline> {
    deadlines.sort_unstable();
    deadlines.into_iter().rev().nth(need.checked_sub(1)?)
}
