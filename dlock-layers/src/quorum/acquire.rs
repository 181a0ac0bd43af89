//! An acquire: all nodes at once, then a wait at one after the other.

use std::{collections::BTreeSet, sync::Arc};

use dlock_core::{
    AttemptId, Error, ErrorKind, Result,
    backend::{AcquireRequest, Lease, Wait},
    toolkit::{Backoff, pause, pause_after},
};

use super::{
    deadline::of_grant,
    hold::Hold,
    nodes::Nodes,
    pending::Member,
    refusal::refusal,
    round::{Answers, Round},
    token::agree,
    wait::wait_in_order,
};
use crate::undo::{undo, undone};

/// Takes the lock, or waits for it.
pub(super) async fn acquire(nodes: &Arc<Nodes>, request: &AcquireRequest) -> Result<Lease> {
    let (mut backoff, mut is_again) = (Backoff::new(), false);
    // The nodes whose last answer in this acquire was that the lock is taken.
    let mut contended = BTreeSet::new();
    loop {
        let refused = match at_once(nodes, request, is_again, &mut contended).await {
            Ok(lease) => return Ok(lease),
            Err(error) => error,
        };
        is_again = true;
        if request.attempt.is_cancelled() {
            return Err(Error::cancelled());
        }
        if request.wait == Wait::Never || !refused.is_retryable() {
            return Err(refused);
        }
        let refused = match refused.kind() {
            ErrorKind::Contended => {
                request.attempt.report_contended();
                // Boxed here and below: the futures of acquires stay small.
                match Box::pin(in_order(nodes, request, &contended)).await {
                    Ok(lease) => return Ok(lease),
                    Err(error) => error,
                }
            }
            _ => refused,
        };
        if request.attempt.is_cancelled() {
            return Err(Error::cancelled());
        }
        match refused.kind() {
            // Too many nodes were granted to others in between.
            ErrorKind::Contended => pause(&request.attempt, &mut backoff).await?,
            ErrorKind::Unavailable => {
                pause_after(&request.attempt, &refused, &mut backoff).await?;
            }
            _ => return Err(refused),
        }
    }
}

/// One round that requests the lock from all nodes at once.
async fn at_once(
    nodes: &Arc<Nodes>,
    request: &AcquireRequest,
    is_again: bool,
    contended: &mut BTreeSet<usize>,
) -> Result<Lease> {
    let round = Round::new(nodes, request, is_again);
    let answers = Box::pin(round.request_all(nodes, Answers::default())).await;
    let refusals = answers.refusals.iter();
    *contended = refusals
        .filter(|refusal| refusal.error.is_contended())
        .map(|refusal| refusal.number)
        .collect();
    Box::pin(grant(nodes, request, round, answers)).await
}

/// One round in which the nodes are waited for in their order.
async fn in_order(
    nodes: &Arc<Nodes>,
    request: &AcquireRequest,
    contended: &BTreeSet<usize>,
) -> Result<Lease> {
    let round = Round::new(nodes, request, true);
    let answers = wait_in_order(nodes, request, &round, contended).await;
    let is_enough = round.held(&answers.members).count() >= nodes.options.need;
    let answers = match is_enough {
        true => round.request_all(nodes, answers).await,
        false => answers,
    };
    grant(nodes, request, round, answers).await
}

/// Makes a lease of the nodes that hold the lock; releases them all if they are too few.
async fn grant(
    nodes: &Arc<Nodes>,
    request: &AcquireRequest,
    round: Round,
    answers: Answers,
) -> Result<Lease> {
    let Answers { members, refusals } = answers;
    let held: Vec<_> = round.held(&members).cloned().collect();
    let refused = if held.len() < nodes.options.need {
        refusal(nodes, held.len(), &refusals)
    } else {
        match agree(nodes, request.attempt.id(), &held).await {
            Err(error) => error,
            Ok(token) => {
                let deadlines = round.held(&members).map(|member| member.part.deadline());
                // Now is late enough to count from: it only bounds what has no end.
                let sent = request.sent_now();
                let deadline = of_grant(
                    nodes.capabilities.expiry,
                    deadlines.collect(),
                    nodes.options.need,
                    sent,
                    request.ttl,
                );
                match deadline.filter(|_| round.tally.grant()) {
                    Some(deadline) => {
                        let id = id_of_most(&held);
                        let hold = Hold::new(nodes.clone(), round, members, &refusals);
                        let lease = request.granted_until(deadline, token, Arc::new(hold));
                        return Ok(lease.with_id(id.unwrap_or_else(|| request.attempt.id())));
                    }
                    None => {
                        let why = "too many nodes have lost the lock before the grant";
                        Error::new(ErrorKind::Unavailable, why)
                    }
                }
            }
        }
    };
    let is_confirmed = undo(request, members.into_iter().map(|member| member.part)).await;
    Err(undone(refused, is_confirmed))
}

/// The identity that most nodes have of a grant, as `inspect` finds it: that of the round, or of a try during the wait.
fn id_of_most(held: &[Member]) -> Option<AttemptId> {
    let ids = held.iter().map(|member| member.part.lease.id());
    let count = |id: &AttemptId| ids.clone().filter(|other| other == id).count();
    ids.clone().max_by_key(count)
}
