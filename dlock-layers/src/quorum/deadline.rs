//! The deadline of a lock, of those of its nodes.

use std::time::Duration;

use dlock_core::{
    Expiry,
    backend::{Deadline, SentAt},
};

/// The deadline of a grant or a renewal; `None` if its nodes are too few. `sent` is before it.
///
/// A lock that its nodes keep without end has one, unless all nodes do so: else nothing would renew the others.
pub(super) fn of_grant(
    quorum: Expiry,
    deadlines: Vec<Deadline>,
    need: usize,
    sent: SentAt,
    ttl: Duration,
) -> Option<Deadline> {
    let latest = latest_of_need(deadlines, need)?;
    let is_endless = latest == Deadline::FOREVER && quorum != Expiry::Process;
    Some(if is_endless {
        sent.deadline(ttl, ttl)
    } else {
        latest
    })
}

/// The latest deadline that `need` of `deadlines` reach (K2).
pub(super) fn latest_of_need(mut deadlines: Vec<Deadline>, need: usize) -> Option<Deadline> {
    deadlines.sort_unstable();
    deadlines.into_iter().rev().nth(need.checked_sub(1)?)
}
