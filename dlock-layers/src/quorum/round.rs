//! One round of an acquire: one identity in all nodes, and the answers.

use std::{pin::pin, sync::Arc};

use dlock_core::{
    AttemptId, Error, Holder, Result,
    backend::{AcquireRequest, Wait, WaitReport},
    toolkit::Lock,
};

use super::{
    node::{Slot, no_answer},
    nodes::Nodes,
    pending::{Member, Pending},
    probe::probe,
    silence::Role,
    tally::{MemberId, Tally},
};

/// A long hold with a node that is down makes a request with a new identity for each renewal. So many are remembered.
const IDS_MAX: usize = 100;

/// An attempt of its own, which a release of an earlier round does not free (K4).
#[derive(Debug)]
pub(super) struct Round {
    pub(super) request: AcquireRequest,
    pub(super) tally: Arc<Tally>,
    /// The first identities of its requests.
    ids: Lock<Vec<AttemptId>>,
}

/// Whether a request has the identity of its round.
#[derive(Clone, Copy, Debug)]
pub(super) enum Identity<'a> {
    OfRound,
    /// That of this request.
    Of(&'a AcquireRequest),
    /// A new one: a request or a release of the round may still be on its way to the node.
    New,
}

/// The answers of the nodes.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub(super) members: Vec<Member>,
    pub(super) refusals: Vec<Refusal>,
}

/// A node that does not hold the lock.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) number: usize,
    pub(super) error: Error,
}

impl Round {
    pub(super) fn new(nodes: &Nodes, outer: &AcquireRequest, is_again: bool) -> Self {
        let need = nodes.options.need;
        Self {
            // Reports and losses are those of the nodes, so that nothing comes to the round itself.
            request: if is_again {
                outer.nested_again(|_| {}, |_| {})
            } else {
                outer.nested(|_| {})
            },
            tally: Arc::new(Tally::new(
                outer.attempt.clone(),
                outer.clock().clone(),
                need,
            )),
            ids: Lock::default(),
        }
    }

    fn note(&self, id: AttemptId) {
        let mut ids = self.ids.lock();
        if ids.len() < IDS_MAX && !ids.contains(&id) {
            ids.push(id);
        }
    }

    /// Whether the holder of a node is that of another round. Without an identity it may be of this one, and so may any
    /// after too many requests.
    pub(super) fn is_of_other(&self, found: &Holder) -> bool {
        let ids = self.ids.lock();
        let is_other = |attempt| ids.len() < IDS_MAX && !ids.contains(&attempt);
        found.attempt.is_some_and(is_other)
    }

    /// Sends a request to the node of `slot`, if it is open.
    pub(super) fn request_from(
        &self,
        nodes: &Nodes,
        slot: &Arc<Slot>,
        wait: Wait,
        identity: Identity<'_>,
        on_wait: impl Fn(WaitReport<'_>) + Send + Sync + 'static,
    ) -> Result<Pending> {
        let store = slot.store().ok_or_else(|| slot.why_not_open())?;
        let (id, tally) = (MemberId::default(), self.tally.clone());
        let lost = id.clone();
        let on_lost = move |cause| tally.lose(&lost, cause);
        let nested = match identity {
            Identity::OfRound => self.request.nested_waiting(on_lost, on_wait),
            Identity::Of(request) => request.nested_waiting(on_lost, on_wait),
            Identity::New => self.request.nested_again(on_lost, on_wait),
        };
        let timeout = nodes.options.node_timeout;
        let request = nested.with_wait(wait);
        self.note(request.attempt.id());
        Ok(Pending::start(slot.clone(), id, store, request, timeout))
    }

    /// Requests a lock that is free now from all nodes at once, but for those in `answers`: a further request of the same
    /// identity could be undone with the first one. A silent node is included if the others are too few.
    pub(super) async fn request_all(&self, nodes: &Nodes, mut answers: Answers) -> Answers {
        let now = self.request.clock().now();
        let (mut normal, mut passed_over) = (Vec::new(), Vec::new());
        for slot in nodes.slots.iter().filter(|slot| !answers.has_of(slot)) {
            match slot.silence.role(now) {
                Role::Normal => normal.push(slot),
                Role::Probe => {
                    probe(slot, &self.request.name, nodes.options.node_timeout);
                    passed_over.push(slot);
                }
                Role::None => passed_over.push(slot),
            }
        }
        let normal = self.request_each(nodes, &normal, &mut answers);
        self.collect(nodes, normal, &mut answers).await;
        if answers.are_enough(nodes) {
            return answers;
        }
        let rest = self.request_each(nodes, &passed_over, &mut answers);
        self.collect(nodes, rest, &mut answers).await;
        answers
    }

    fn request_each(
        &self,
        nodes: &Nodes,
        slots: &[&Arc<Slot>],
        answers: &mut Answers,
    ) -> Vec<Pending> {
        let mut sent = Vec::with_capacity(slots.len());
        for slot in slots {
            match self.request_from(nodes, slot, Wait::Never, Identity::OfRound, |_| {}) {
                Ok(pending) => sent.push(pending),
                Err(error) => answers.refused(slot, error),
            }
        }
        sent
    }

    /// Reads the answers to requests that were sent at once, within the time-out of a node.
    async fn collect(&self, nodes: &Nodes, sent: Vec<Pending>, answers: &mut Answers) {
        let mut end = pin!(tokio::time::sleep(nodes.options.node_timeout));
        for mut pending in sent {
            let answer = pending.answer_before(end.as_mut()).await;
            if answer.is_none() && !self.request.attempt.is_cancelled() {
                pending.slot.silence.begin(self.request.clock().now());
            }
            self.add(nodes, &pending.slot, answer, answers);
        }
    }

    /// Adds the answer of a node; `None` if it was silent.
    pub(super) fn add(
        &self,
        nodes: &Nodes,
        slot: &Slot,
        answer: Option<Result<Member>>,
        answers: &mut Answers,
    ) {
        match answer {
            Some(Ok(member)) => {
                // One whose loss came before is not counted, and released with the others.
                self.tally.hold(&member.id, &member.part);
                answers.members.push(member);
            }
            Some(Err(error)) => answers.refused(slot, error),
            None => {
                let error = no_answer(nodes.options.node_timeout);
                answers.refused(slot, error);
            }
        }
    }

    /// The members that are held: by their own clock, and as far as their nodes have reported.
    pub(super) fn held<'a>(&self, members: &'a [Member]) -> impl Iterator<Item = &'a Member> {
        let tally = self.tally.clone();
        members
            .iter()
            .filter(move |member| tally.is_held(&member.id, &member.part))
    }
}

impl Answers {
    fn refused(&mut self, slot: &Slot, error: Error) {
        self.refusals.push(Refusal {
            number: slot.number,
            error,
        });
    }

    /// Whether a request was sent to the node.
    pub(super) fn has_of(&self, slot: &Slot) -> bool {
        let numbers = self.members.iter().map(|member| member.slot.number);
        let refused = self.refusals.iter().map(|refusal| refusal.number);
        numbers.chain(refused).any(|number| number == slot.number)
    }

    /// Whether further nodes change nothing: enough hold the lock, or another holder may have it.
    fn are_enough(&self, nodes: &Nodes) -> bool {
        let contended = self
            .refusals
            .iter()
            .filter(|refusal| refusal.error.is_contended());
        self.members.len() + contended.count() >= nodes.options.need
    }
}
