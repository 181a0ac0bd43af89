//! The token of a grant: the largest one of its nodes, which a majority of all nodes confirms.

use dlock_core::{AttemptId, Effect, Error, ErrorKind, Fencing, Result, Token};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::time::timeout;

use super::{nodes::Nodes, pending::Member};
use crate::{panics::unless_panics, part::Part};

/// The token of a grant to the attempt `id` that `members` hold.
///
/// Proof that tokens grow (K5). Let two grants have confirmations of the majorities S and S'. Some node is in both. There
/// each lock was held from its grant to its confirmation, so one grant is after the other's confirmation. Its token in
/// that node is larger than the other's, and its own token is not less. No clock is used: nodes may forget locks, but
/// not counters.
pub(super) async fn agree(nodes: &Nodes, id: AttemptId, members: &[Member]) -> Result<Token> {
    if nodes.capabilities.fencing == Fencing::None {
        return of_attempt(id);
    }
    let largest = members.iter().map(|member| member.part.lease.token).max();
    let Some(token) = largest else {
        return Err(unconfirmed(0, nodes));
    };
    // A node that gave this token has confirmed it with its grant.
    let (gave_it, others): (Vec<_>, Vec<_>) = members
        .iter()
        .partition(|member| member.part.lease.token == token);
    let mut confirmed = gave_it.len();
    // Polled by this task, as in `gather`.
    let raises = others.iter().map(|member| raise(&member.part, token));
    let mut raises: FuturesUnordered<_> = raises.collect();
    let confirming = async {
        while confirmed < nodes.options.majority
            && let Some(is_raised) = raises.next().await
        {
            confirmed += usize::from(is_raised);
        }
    };
    // A node without an answer in time has not confirmed it.
    let _ = timeout(nodes.options.node_timeout, confirming).await;
    // The others are dropped: a late one changes nothing, or only what is allowed to change.
    drop(raises);
    if confirmed < nodes.options.majority {
        return Err(unconfirmed(confirmed, nodes));
    }
    Ok(token)
}

async fn raise(part: &Part, token: Token) -> bool {
    match unless_panics(part.raise(token)).await {
        Some(Ok(is_raised)) => is_raised,
        Some(Err(error)) => {
            tracing::debug!(%error, "a node does not confirm the token");
            false
        }
        None => false,
    }
}

/// A token without an order, which no other attempt has.
fn of_attempt(id: AttemptId) -> Result<Token> {
    let value = id.as_u128() & u128::from(Token::MAX) | 1;
    let token = u64::try_from(value).ok().and_then(Token::new);
    token.ok_or_else(|| Error::new(ErrorKind::Internal, "an attempt has no token"))
}

fn unconfirmed(confirmed: usize, nodes: &Nodes) -> Error {
    let (all, majority) = (nodes.slots.len(), nodes.options.majority);
    let why = format!("{confirmed} of {all} nodes confirmed the token, {majority} are needed");
    Error::new(ErrorKind::Unavailable, why).with_effect(Effect::Unknown)
}
