//! The wait for a lock that another holder has: at one node after the other, in their order.
//!
//! All waiters have the same order, so none holds a node that another one needs before it. The locks of the nodes before
//! are kept alive.

use std::{pin::pin, sync::Arc};

use dlock_core::{
    LostCause, Result,
    backend::{AcquireRequest, Wait, WaitReport},
};
use tokio::{task::JoinSet, time::timeout};

use super::{
    node::Slot,
    nodes::Nodes,
    pending::Member,
    round::{Answers, Identity, Round},
};
use crate::reports::Reports;

/// Locks that were kept for more than this part of their ttl are renewed before the grant: waiting does not eat the ttl
/// (K6).
const WAITED_SHARE: u32 = 20;

/// Waits until `need` nodes hold the lock, or cannot any more in this round.
pub(super) async fn wait_in_order(
    nodes: &Nodes,
    request: &AcquireRequest,
    round: &Round,
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
        let answer = match slot.silence.is_silent() && nodes.are_enough_without_silent() {
            true => None,
            false => wait_at(nodes, request, round, slot, &answers.members, left).await,
        };
        round.add(nodes, slot, answer, &mut answers);
    }
    if request.clock().now().since(began) > request.ttl / WAITED_SHARE {
        renew(nodes, &answers.members).await;
    }
    answers
}

/// Waits at one node, while the locks of the `members` are kept. `None` if the node is silent, or the `left` nodes with
/// this one are too few after a loss.
async fn wait_at(
    nodes: &Nodes,
    request: &AcquireRequest,
    round: &Round,
    slot: &Arc<Slot>,
    members: &[Member],
    left: usize,
) -> Option<Result<Member>> {
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
        Err(error) => return Some(Err(error)),
    };
    let mut kept = keep(round.held(members));
    let mut until_silent = pin!(reports.until_silent(nodes.options.node_timeout));
    loop {
        tokio::select! {
            biased;
            answer = pending.answer() => return Some(answer),
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
        }
    }
    pending.give_up()
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
    let mut renewals = JoinSet::new();
    for part in members.iter().map(|member| member.part.clone()) {
        renewals.spawn(async move { part.renew().await });
    }
    let all = async { while renewals.join_next().await.is_some() {} };
    let _ = timeout(nodes.options.node_timeout, all).await;
}
