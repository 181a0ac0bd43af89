//! The holder of a lock: the attempt that `need` nodes name.

use std::{collections::HashMap, time::Duration};

use dlock_core::{AttemptId, Fencing, Holder, LockName, Result};

use super::{gather::gather, nodes::Nodes, refusal::too_few};

pub(super) async fn inspect(nodes: &Nodes, name: &LockName) -> Result<Option<Holder>> {
    let need = nodes.options.need;
    let is_skipping = nodes.are_enough_without_silent();
    let (mut requests, mut cause) = (Vec::new(), None);
    for slot in &nodes.slots {
        match slot.store() {
            Some(_) if is_skipping && slot.silence.is_silent() => {}
            Some(store) => {
                requests.push(async move { (slot, store.inspect(name).await) });
            }
            None => cause = Some((slot, slot.why_not_open())),
        }
    }
    let (mut answered, mut found) = (0, Vec::new());
    gather(requests, nodes.options.node_timeout, |answer| {
        match answer {
            None => {}
            Some((_, Ok(holder))) => {
                answered += 1;
                found.extend(holder);
            }
            Some((slot, Err(error))) => cause = Some((slot, error)),
        }
        answered >= need
    })
    .await;
    let cause = cause.as_ref().map(|(slot, error)| (&***slot, error));
    if answered < need {
        return Err(too_few(nodes, answered, cause));
    }
    if let Some(mut holder) = named_by(need, &found) {
        if nodes.capabilities.fencing == Fencing::None {
            // The lock has a token of its own, which no node knows.
            holder.token = None;
        }
        return Ok(Some(holder));
    }
    let most = by_attempt(&found)
        .into_values()
        .map(|same| same.len())
        .max();
    let is_held_or_unknown = |most| most + nodes.slots.len() - answered >= need;
    match most.is_some_and(is_held_or_unknown) {
        // The others may name the same attempt.
        true => Err(too_few(nodes, answered, cause)),
        false => Ok(None),
    }
}

fn by_attempt(found: &[Holder]) -> HashMap<Option<AttemptId>, Vec<&Holder>> {
    let mut by_attempt: HashMap<_, Vec<_>> = HashMap::new();
    for holder in found {
        by_attempt.entry(holder.attempt).or_default().push(holder);
    }
    by_attempt
}

/// The holder that `need` of the `found` ones are.
fn named_by(need: usize, found: &[Holder]) -> Option<Holder> {
    let same = by_attempt(found)
        .into_values()
        .find(|same| same.len() >= need)?;
    // That of the lock, or above it if a node took part again later, with a token of its own.
    let token = same.iter().filter_map(|holder| holder.token).max();
    let mut remaining: Vec<_> = same
        .iter()
        .map(|holder| holder.remaining.unwrap_or(Duration::MAX))
        .collect();
    remaining.sort_unstable();
    let remaining = remaining.into_iter().rev().nth(need.checked_sub(1)?);
    let warning = same.iter().find_map(|holder| holder.warning.clone());
    let mut holder = (*same.first()?).clone();
    holder.token = token;
    holder.remaining = remaining.filter(|remaining| *remaining != Duration::MAX);
    holder.warning = warning;
    Some(holder)
}

#[cfg(test)]
mod tests {
    use dlock_core::Token;

    use super::*;

    fn holder(attempt: u128, token: u64, seconds: u64) -> Holder {
        let mut holder = Holder::foreign();
        holder.attempt = Some(AttemptId::from_u128(attempt));
        holder.token = Token::new(token);
        holder.remaining = Some(Duration::from_secs(seconds));
        holder
    }

    #[test]
    fn as_many_nodes_as_needed_name_the_holder() {
        let found = vec![holder(1, 7, 9), holder(2, 8, 9), holder(1, 5, 3)];
        let named = named_by(2, &found).expect("a holder");
        assert_eq!(named, holder(1, 7, 3));
        assert_eq!(named_by(3, &found), None);
    }
}
