//! The wait for a lock that another holder has: at one node after the other, in their order.
//!
//! All waiters have the same order, so none holds a node that another one needs before it. The locks of the nodes before
//! are kept alive.

use std::{collections::BTreeSet, pin::pin, sync::Arc, time::Duration};

use dlock_core::{
    LostCause, Result,
    backend::{AcquireRequest, Wait, WaitReport},
};
use tokio::{task::JoinSet, time::timeout};

use super::{
    gather::gather,
    node::Slot,
    nodes::Nodes,
    pending::Member,
    round::{Answers, Identity, Round},
};
use crate::{reports::Reports, undo::undo};

/// Locks that were kept for more than this part of their ttl are renewed before the grant: waiting does not eat the ttl
/// (K6).
const WAITED_SHARE: u32 = 20;

/// A node that has just answered that the lock is taken is silent if it reports nothing for so long: it may have put the
/// waiter into a queue without a word.
const REPORT_MAX: Duration = Duration::from_secs(5);

/// The nodes after the one that is waited for are tried so often. That one may be the only one that still has the lock.
const TRY_OTHERS_EVERY: Duration = Duration::from_secs(1);

/// Waits until `need` nodes hold the lock, or cannot any more in this round.
pub(super) async fn wait_in_order(
    nodes: &Nodes,
    request: &AcquireRequest,
    round: &Round,
    contended: &BTreeSet<usize>,
) -> Answers {
    let mut answers = Answers::default();
    let began = request.clock().now();
    for (at, slot) in nodes.slots.iter().enumerate() {
        let held = round.held(&answers.members).count();
        let left = nodes.slots.len() - at;
        let need = nodes.options.need;
        if held >= need || held + left < need || request.attempt.is_cancelled() {
            break;
        }
        if answers.has_of(slot) {
            // Taken while another one was waited for, before a loss.
            continue;
        }
        if slot.silence.is_silent() && nodes.are_enough_without_silent() {
            round.add(nodes, slot, None, &mut answers);
            continue;
        }
        let answer_max = match contended.contains(&slot.number) {
            true => REPORT_MAX,
            false => nodes.options.node_timeout,
        };
        let wait = WaitAt {
            nodes,
            request,
            round,
            slot,
            left,
            answer_max,
        };
        let (answer, others) = wait.run(&answers.members).await;
        round.add(nodes, slot, answer, &mut answers);
        for member in others {
            let other = member.slot.clone();
            round.add(nodes, &other, Some(Ok(member)), &mut answers);
        }
    }
    if request.clock().now().since(began) > request.ttl / WAITED_SHARE {
        renew(nodes, &answers.members).await;
    }
    answers
}

/// A wait at one node.
struct WaitAt<'a> {
    nodes: &'a Nodes,
    request: &'a AcquireRequest,
    round: &'a Round,
    slot: &'a Arc<Slot>,
    /// The nodes that are not waited for yet, with this one.
    left: usize,
    /// The node is silent if it reports nothing for so long.
    answer_max: Duration,
}

impl WaitAt<'_> {
    /// Waits, while the parts of the `members` are kept. There is no answer if the node is silent, if others are enough, or
    /// if those that are left are too few after a loss. Returns the others that were taken in the meantime, too.
    async fn run(&self, members: &[Member]) -> (Option<Result<Member>>, Vec<Member>) {
        let Self {
            nodes,
            request,
            round,
            slot,
            left,
            answer_max,
        } = *self;
        let reports = Arc::new(Reports::default());
        let (taken, outer) = (reports.clone(), request.attempt.clone());
        let on_wait = move |report: WaitReport<'_>| {
            // Instead of a node that cannot be reached the others count, as long as they are enough.
            if let WaitReport::Contended(warning) = report {
                outer.report_contended_with(warning.map(str::to_owned));
            }
            taken.take(report);
        };
        let (wait, identity) = (Wait::UntilCancelled, Identity::OfRound);
        let mut pending = match round.request_from(nodes, slot, wait, identity, on_wait) {
            Ok(pending) => pending,
            Err(error) => return (Some(Err(error)), Vec::new()),
        };
        let mut kept = keep(round.held(members));
        let (mut try_at, mut others) = (request.clock().now().after(TRY_OTHERS_EVERY), Vec::new());
        let mut until_silent = pin!(reports.until_silent(answer_max));
        loop {
            tokio::select! {
                biased;
                answer = pending.answer() => return (Some(answer), Vec::new()),
                () = &mut until_silent => {
                    slot.silence.begin(request.clock().now());
                    break;
                }
                () = request.attempt.cancelled() => break,
                Some(_) = kept.join_next() => {
                    if round.held(members).count() + left < nodes.options.need {
                        break;
                    }
                }
                () = request.clock().sleep_until(try_at) => {
                    others = self.try_others(members).await;
                    if !others.is_empty() {
                        break;
                    }
                    try_at = request.clock().now().after(TRY_OTHERS_EVERY);
                }
            }
        }
        (pending.give_up(), others)
    }

    /// Tries the nodes after this one, without a wait. Returns them if they are enough; otherwise they are given back.
    ///
    /// One after the other, in the order of all waiters: the first one of several gets all.
    async fn try_others(&self, members: &[Member]) -> Vec<Member> {
        let (nodes, mut found) = (self.nodes, Vec::new());
        let held = self.round.held(members).count();
        let after = nodes
            .slots
            .iter()
            .filter(|slot| slot.number > self.slot.number);
        let after: Vec<_> = after.filter(|slot| !slot.silence.is_silent()).collect();
        // One identity for all of them: `inspect` finds the holder by it.
        let again = self.round.request.nested_again(|_| {}, |_| {});
        for (at, slot) in after.iter().enumerate() {
            let have = held + found.len();
            if have >= nodes.options.need || have + after.len() - at < nodes.options.need {
                break;
            }
            let identity = Identity::Of(&again);
            let sent = self
                .round
                .request_from(nodes, slot, Wait::Never, identity, |_| {});
            if let Ok(mut pending) = sent {
                let end = tokio::time::sleep(nodes.options.node_timeout);
                found.extend(pending.answer_before(end).await.and_then(Result::ok));
            }
        }
        if held + found.len() < nodes.options.need {
            let parts = found.drain(..).map(|member: Member| member.part);
            undo(self.request, parts).await;
        }
        found
    }
}

/// Tasks that renew the locks of `members`, each until it is lost.
fn keep<'a>(members: impl Iterator<Item = &'a Member>) -> JoinSet<LostCause> {
    let mut kept = JoinSet::new();
    for part in members.map(|member| member.part.clone()) {
        kept.spawn(async move { part.keep().await });
    }
    kept
}

/// Renews the locks, as far as their nodes answer in time.
async fn renew(nodes: &Nodes, members: &[Member]) {
    let renewals = members.iter().map(|member| member.part.renew());
    let all = gather(renewals, nodes.options.node_timeout, |_| false);
    let _ = timeout(nodes.options.node_timeout, all).await;
}
