//! A lock that is held: its renewal and release in all nodes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use dlock_core::{
    BootInstant, Effect, Error, ErrorKind, LostCause, Result,
    backend::{Lease, Renewed},
    toolkit::Lock,
};

use super::{
    deadline::of_grant,
    gather::gather,
    node::Slot,
    nodes::Nodes,
    pending::Member,
    refusal::too_few,
    round::{Refusal, Round},
};
use crate::{
    part::{Found, ends_by},
    undo::{start_undo, undo},
};

/// The lock of a grant.
#[derive(Debug)]
pub(super) struct Hold {
    pub(super) nodes: Arc<Nodes>,
    pub(super) round: Round,
    pub(super) members: Lock<Members>,
}

/// The nodes of a grant, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// The nodes that hold the lock, each once.
    pub(super) held: Vec<Member>,
    /// The nodes that may still have something of the grant beside that, and until when.
    pub(super) leftovers: BTreeMap<usize, BootInstant>,
    /// The nodes to which a request or a release of the round's identity may still be on its way.
    pub(super) renamed: BTreeSet<usize>,
    /// The nodes that have a request of a repair.
    pub(super) requested: BTreeSet<usize>,
    /// The nodes whose last answer was neither a grant nor another holder.
    pub(super) unreachable: BTreeSet<usize>,
    /// The nodes that have confirmed the release, or have shown since then that they have nothing of the grant.
    freed: BTreeSet<usize>,
    /// Nothing is added after a release began (K4).
    pub(super) is_released: bool,
}

impl Hold {
    pub(super) fn new(
        nodes: Arc<Nodes>,
        round: Round,
        held: Vec<Member>,
        refusals: &[Refusal],
    ) -> Self {
        let mut members = Members {
            held,
            ..Members::default()
        };
        for refusal in refusals {
            let slot = nodes
                .slots
                .iter()
                .find(|slot| slot.number == refusal.number);
            if let Some(slot) = slot {
                members.refused(&round, slot, &refusal.error);
            }
        }
        Self {
            nodes,
            round,
            members: Lock::new(members),
        }
    }

    pub(super) fn of(lease: &Lease) -> Result<&Arc<Self>> {
        let other = "the lease is of another backend";
        lease
            .handle()
            .ok_or_else(|| Error::new(ErrorKind::Internal, other))
    }

    /// Renews all members at once. It is renewed if `need` nodes say so, and lost if fewer can still have it (K3).
    pub(super) async fn renew(self: &Arc<Self>) -> Result<Renewed> {
        let need = self.nodes.options.need;
        let sent = self.round.request.sent_now();
        let members = self.members.lock().held.clone();
        let renewals = members.iter().map(|member| async move {
            let found = member.part.renew().await;
            (member, found)
        });
        let (mut deadlines, mut lost, mut unknown) = (Vec::new(), None, None);
        let mut left = members.len();
        let grace = self.nodes.options.node_timeout;
        gather(renewals, grace, |renewal: Option<(&Member, Found)>| {
            match renewal {
                None => {}
                Some((member, Found::Held)) => deadlines.push(member.part.deadline()),
                Some((member, Found::Unknown(error))) => unknown = Some((&member.slot, error)),
                Some((member, Found::Lost(cause))) => {
                    self.lose(member, cause);
                    left -= 1;
                    lost = Some(cause);
                }
            }
            deadlines.len() >= need
        })
        .await;
        if left < need {
            let cause = lost.unwrap_or(LostCause::Removed);
            self.end_as_lost(cause).await;
            return Ok(Renewed::Lost(cause));
        }
        let answered = deadlines.len();
        let expiry = self.nodes.capabilities.expiry;
        match of_grant(expiry, deadlines, need, sent, self.round.request.ttl) {
            Some(deadline) => Ok(Renewed::Until(deadline)),
            None => {
                let cause = unknown.as_ref().map(|(slot, error)| (&***slot, error));
                Err(too_few(&self.nodes, answered, cause))
            }
        }
    }

    /// Releases what is left, also what a repair has taken since one of the losses: the lock stays lost (K3). Core releases
    /// it after that, too.
    async fn end_as_lost(&self, cause: LostCause) {
        self.round.tally.end(cause);
        let left = {
            let mut members = self.members.lock();
            members.is_released = true;
            members.held.clone()
        };
        self.round.request.cancel_nested();
        undo(
            &self.round.request,
            left.into_iter().map(|member| member.part),
        )
        .await;
    }

    /// Takes out a member that is lost, and releases what its node may still have of it.
    fn lose(self: &Arc<Self>, member: &Member, cause: LostCause) {
        let (number, until) = (member.slot.number, member.part.ends_by());
        {
            let mut members = self.members.lock();
            if members.is_released {
                // The answer to the release says what is left: a renewal may have come after it.
                return;
            }
            let before = members.held.len();
            members.held.retain(|other| other.id != member.id);
            if members.held.len() == before {
                return;
            }
            if cause == LostCause::Expired {
                // By our own clock: a request may still be on its way.
                members.renamed.insert(number);
            }
            members.leftovers.insert(number, until);
        }
        self.round.tally.lose(&member.id, cause);
        let (hold, part) = (self.clone(), member.part.clone());
        let is_again = Arc::new(AtomicBool::new(false));
        let undo = move || {
            let (hold, part, is_again) = (hold.clone(), part.clone(), is_again.clone());
            async move {
                if is_again.swap(true, Ordering::AcqRel) {
                    // A release that was not answered could free a grant of the same identity (K4).
                    hold.members.lock().renamed.insert(number);
                }
                part.release().await?;
                hold.settle(number, until);
                hold.repair();
                Ok(())
            }
        };
        // Goes on in the background; a shutdown waits for it (K9).
        drop(self.round.request.undo(until, undo));
    }

    /// Nothing is left of the member that was lost, unless something came later.
    fn settle(&self, number: usize, until: BootInstant) {
        let mut members = self.members.lock();
        if members.leftovers.get(&number) == Some(&until) {
            members.leftovers.remove(&number);
        }
    }

    /// Releases all members at once. The lock is free for others when enough nodes are without it. The others are
    /// released in the background.
    pub(super) async fn release(&self) -> Result<()> {
        let (held, mut free) = {
            let mut members = self.members.lock();
            members.is_released = true;
            (members.held.clone(), self.count_free(&members))
        };
        // Ends the requests of a repair, too.
        self.round.request.cancel_nested();
        let releases = held.iter().map(|member| async move {
            let released = member.part.release().await;
            (member, released)
        });
        let need = self.nodes.options.need;
        let (grace, mut failed) = (self.nodes.options.node_timeout, None);
        gather(releases, grace, |release: Option<(&Member, Result<()>)>| {
            let mut members = self.members.lock();
            match release {
                None => {}
                Some((member, Ok(()))) => {
                    members.held.retain(|other| other.id != member.id);
                    members.freed.insert(member.slot.number);
                }
                Some((_, Err(error))) => failed = Some(error),
            }
            // Not counted again below: a node may turn silent in between, after the other releases were given up.
            free = self.count_free(&members);
            free >= need
        })
        .await;
        if free < need {
            free = self.inspect_rest().await;
        }
        if free < need {
            return Err(failed.unwrap_or_else(|| not_released(free, need)));
        }
        let rest = std::mem::take(&mut self.members.lock().held);
        for member in rest {
            // Goes on in the background; a shutdown waits for it (K9).
            drop(start_undo(&self.round.request, member.part));
        }
        Ok(())
    }

    /// Reads from the nodes that do not hold the lock and may have something of it, or were not reachable the last time.
    /// Returns how many are free then. Nothing else shows that a request has ended which was given up.
    async fn inspect_rest(&self) -> usize {
        let (name, timeout) = (&self.round.request.name, self.nodes.options.node_timeout);
        let now = self.round.request.clock().now();
        let rest: Vec<_> = {
            let members = self.members.lock();
            let is_rest = |slot: &&Arc<Slot>| {
                let number = slot.number;
                let is_open = members.has(number) || members.requested.contains(&number);
                !is_open && !members.is_free(slot, now)
            };
            self.nodes.slots.iter().filter(is_rest).cloned().collect()
        };
        let inspections = rest.iter().filter_map(|slot| {
            let store = slot.store()?;
            Some(async move {
                let found = tokio::time::timeout(timeout, store.inspect(name)).await;
                (slot.number, found)
            })
        });
        gather(inspections, timeout, |inspected| {
            if let Some((number, Ok(Ok(found)))) = inspected
                && found.is_none_or(|found| self.round.is_of_other(&found))
            {
                let mut members = self.members.lock();
                members.leftovers.remove(&number);
                members.freed.insert(number);
            }
            false
        })
        .await;
        self.count_free(&self.members.lock())
    }

    /// How many nodes are without anything of the grant, as far as is known, and can be reached by the next holder.
    fn count_free(&self, members: &Members) -> usize {
        let now = self.round.request.clock().now();
        let is_free = |slot: &&Arc<Slot>| members.is_free(slot, now);
        self.nodes.slots.iter().filter(is_free).count()
    }
}

impl Members {
    pub(super) fn has(&self, number: usize) -> bool {
        self.held.iter().any(|member| member.slot.number == number)
    }

    /// A node has answered a request with `error`.
    pub(super) fn refused(&mut self, round: &Round, slot: &Slot, error: &Error) {
        let number = slot.number;
        if error.effect() == Effect::Unknown {
            let until = slot.store().map(|store| ends_by(&*store, &round.request));
            // A node that is closed is closed for ever.
            let until = until.unwrap_or(BootInstant::FOREVER);
            self.leftovers.insert(number, until);
            self.renamed.insert(number);
        }
        match error.is_contended() {
            true => self.unreachable.remove(&number),
            false => self.unreachable.insert(number),
        };
    }

    fn is_free(&self, slot: &Slot, now: BootInstant) -> bool {
        let number = slot.number;
        let is_clean = !self.has(number)
            && !self.requested.contains(&number)
            && self
                .leftovers
                .get(&number)
                .is_none_or(|until| *until <= now);
        let answers = || {
            let is_known = slot.store().is_some() && !slot.silence.is_silent();
            is_known && !self.unreachable.contains(&number)
        };
        is_clean && (self.freed.contains(&number) || answers())
    }
}

fn not_released(free: usize, need: usize) -> Error {
    let why = format!("{free} nodes are known to be free, {need} are needed for the next holder");
    Error::new(ErrorKind::Unavailable, why).with_effect(Effect::Unknown)
}
