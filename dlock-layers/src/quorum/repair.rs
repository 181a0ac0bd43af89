//! The nodes that do not hold a granted lock get another request at each renewal, while enough others hold it.
//!
//! So a node that was down, or lost its data, takes part again. The lock as a whole never lapsed (K3).

use std::sync::Arc;

use dlock_core::{BootInstant, Result, backend::Wait};

use super::{
    hold::Hold,
    node::{Slot, no_answer},
    pending::{Member, Pending},
    round::Identity,
    silence::Role,
};
use crate::undo::start_undo;

impl Hold {
    /// Requests the lock from the nodes that do not hold it, in the background: a silent one does not delay a renewal.
    pub(super) fn repair(self: &Arc<Self>) {
        if !self.round.tally.is_enough() {
            // A lock that lapsed is lost (K3).
            return;
        }
        let now = self.round.request.clock().now();
        for slot in &self.nodes.slots {
            let Some(identity) = self.begin(slot, now) else {
                continue;
            };
            if slot.silence.role(now) == Role::None {
                self.end(slot, None);
                continue;
            }
            match self
                .round
                .request_from(&self.nodes, slot, Wait::Never, identity, |_| {})
            {
                Ok(pending) => {
                    tokio::spawn(self.clone().wait_for(pending));
                }
                Err(error) => self.end(slot, Some(Err(error))),
            }
        }
    }

    async fn wait_for(self: Arc<Self>, mut pending: Pending) {
        let end = tokio::time::sleep(self.nodes.options.node_timeout);
        let answer = pending.answer_before(end).await;
        let slot = pending.slot.clone();
        if answer.is_none() && !self.members.lock().is_released {
            slot.silence.begin(self.round.request.clock().now());
        }
        let answer = answer.unwrap_or_else(|| Err(no_answer(self.nodes.options.node_timeout)));
        self.end(&slot, Some(answer));
    }

    /// Begins a request to a node, unless it holds the lock or has one already; with the identity for it.
    fn begin(&self, slot: &Slot, now: BootInstant) -> Option<Identity<'static>> {
        let mut members = self.members.lock();
        let number = slot.number;
        if members.has(number) || members.is_released {
            return None;
        }
        let identity = match members.leftovers.get(&number) {
            _ if members.renamed.contains(&number) => Identity::New,
            // A release of this identity is not confirmed, and would free the new lock, too (K4).
            Some(until) if *until > now => return None,
            // It was given up, and may still be executed.
            Some(_) => Identity::New,
            None => Identity::OfRound,
        };
        members.requested.insert(number).then_some(identity)
    }

    /// Takes the answer of a node to such a request.
    fn end(&self, slot: &Slot, answer: Option<Result<Member>>) {
        let mut members = self.members.lock();
        members.requested.remove(&slot.number);
        match answer {
            None => {}
            Some(Err(error)) => members.refused(&self.round, slot, &error),
            Some(Ok(member)) if members.is_released => {
                let until = member.part.ends_by();
                members.leftovers.insert(slot.number, until);
                drop(members);
                drop(start_undo(&self.round.request, member.part));
            }
            Some(Ok(member)) => {
                // If its loss came before, the next renewal finds it.
                self.round.tally.hold(&member.id, &member.part);
                members.unreachable.remove(&slot.number);
                members.held.push(member);
            }
        }
    }
}
