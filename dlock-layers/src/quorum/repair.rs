//! The nodes that do not hold a granted lock are asked again at each renewal, while enough others hold it.
//!
//! So a node that was down, or lost its data, takes part again. The lock as a whole never lapsed meanwhile (K3).

use std::sync::Arc;

use dlock_core::{Effect, Result, backend::Wait};

use super::{
    ask::{Asking, Member},
    hold::Hold,
    node::Slot,
    round::Identity,
    silence::Asked,
};
use crate::undo::start_undo;

impl Hold {
    /// Asks the nodes that do not hold the lock, in the background: one that is silent does not delay a renewal.
    pub(super) fn repair(self: &Arc<Self>) {
        let now = self.round.request.clock().now();
        for slot in &self.nodes.slots {
            let Some(identity) = self.begin(slot) else {
                continue;
            };
            if slot.silence.asked(now) == Asked::Never {
                self.end(slot, None);
                continue;
            }
            match self
                .round
                .ask(&self.nodes, slot, Wait::Never, identity, |_| {})
            {
                Ok(asking) => {
                    tokio::spawn(self.clone().wait_for(asking));
                }
                Err(error) => self.end(slot, Some(Err(error))),
            }
        }
    }

    async fn wait_for(self: Arc<Self>, mut asking: Asking) {
        let end = tokio::time::sleep(self.nodes.options.node_timeout);
        let answer = asking.answer_before(end).await;
        let slot = asking.slot.clone();
        if answer.is_none() && !self.parts.lock().is_released {
            slot.silence.begin(self.round.request.clock().now());
        }
        let answer = answer.unwrap_or_else(|| Err(slot.no_answer(self.nodes.options.node_timeout)));
        self.end(&slot, Some(answer));
    }

    /// Begins to ask a node, unless it holds the lock or is asked already; with the identity for it.
    fn begin(&self, slot: &Slot) -> Option<Identity> {
        let mut parts = self.parts.lock();
        let number = slot.number;
        let has = parts
            .members
            .iter()
            .any(|member| member.slot.number == number);
        if has || parts.is_released || !parts.asked.insert(number) {
            return None;
        }
        match parts.unclean.contains(&number) {
            true => Some(Identity::Fresh),
            false => Some(Identity::OfRound),
        }
    }

    /// Takes the answer of a node that was asked again.
    fn end(&self, slot: &Slot, answer: Option<Result<Member>>) {
        let mut parts = self.parts.lock();
        parts.asked.remove(&slot.number);
        match answer {
            Some(Err(error)) if error.effect() == Effect::Unknown => {
                parts.unclean.insert(slot.number);
            }
            None | Some(Err(_)) => {}
            Some(Ok(member)) if parts.is_released => {
                drop(parts);
                drop(start_undo(&self.round.request, member.part));
            }
            Some(Ok(member)) => {
                // If its loss came before, the next renewal finds it.
                let _ = self.round.tally.hold(member.id);
                parts.members.push(member);
            }
        }
    }
}
