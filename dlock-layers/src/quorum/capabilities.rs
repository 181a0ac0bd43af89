//! The capabilities of a quorum.

use std::time::Duration;

use dlock_core::{
    Capabilities, Error, ErrorKind, Expiry, Fencing, Modes, Order, Result, Waiting,
    backend::DistributedLock,
};

/// The capabilities of a quorum of nodes with those in `nodes`, without I/O. `are_counters_raised` says whether each of
/// them has a [`token_counter`](DistributedLock::token_counter).
///
/// Without nodes they are those of a store that can do nothing.
#[must_use]
pub fn capabilities(nodes: &[Capabilities], are_counters_raised: bool) -> Capabilities {
    let guards = nodes.iter().map(|node| node.restart_guard);
    // A ttl longer than a guard would outlast it; no guard at all is no bound.
    let guard_min = guards.clone().filter(|guard| !guard.is_zero()).min();
    let ttl_max = nodes.iter().map(|node| node.ttl_max).chain(guard_min).min();
    let are_growing = nodes.iter().all(|node| node.fencing == Fencing::Growing);
    let has = |waiting| nodes.iter().any(|node| node.waiting == waiting);
    Capabilities {
        backend: "quorum",
        modes: Modes::Exclusive,
        fencing: if are_growing && are_counters_raised {
            Fencing::Growing
        } else {
            Fencing::None
        },
        order: Order::Unordered,
        waiting: if has(Waiting::Polled) {
            Waiting::Polled
        } else if has(Waiting::Blocking) {
            Waiting::Blocking
        } else {
            Waiting::Notified
        },
        expiry: expiry(nodes),
        ttl_min: nodes
            .iter()
            .map(|node| node.ttl_min)
            .max()
            .unwrap_or_default(),
        ttl_max: ttl_max.unwrap_or_default(),
        held_max: nodes.iter().filter_map(|node| node.held_max).min(),
        // A waiter waits at one node after the other.
        takeover_max: nodes.iter().fold(Duration::ZERO, |sum, node| {
            sum.saturating_add(node.takeover_max)
        }),
        restart_guard: guards.max().unwrap_or_default(),
    }
}

/// The end of a hold is that of the node where it lasts longest.
fn expiry(nodes: &[Capabilities]) -> Expiry {
    let has = |expiry| nodes.iter().any(|node| node.expiry == expiry);
    if has(Expiry::Session) {
        Expiry::Session
    } else if has(Expiry::Lease) || nodes.is_empty() {
        Expiry::Lease
    } else {
        Expiry::Process
    }
}

/// Whether `store` can do what the `quorum` has promised without it.
pub(super) fn fits(quorum: &Capabilities, store: &dyn DistributedLock) -> Result<()> {
    let own = store.capabilities();
    let with_it = capabilities(&[*quorum, own], true);
    let is_bounded = with_it.ttl_min <= quorum.ttl_min
        && with_it.ttl_max >= quorum.ttl_max
        && with_it.expiry == quorum.expiry
        && with_it.held_max.unwrap_or(u32::MAX) >= quorum.held_max.unwrap_or(u32::MAX);
    let counts = own.fencing == Fencing::Growing && store.token_counter().is_some();
    if is_bounded && (counts || quorum.fencing == Fencing::None) {
        return Ok(());
    }
    let why = "the node was opened later, and its store cannot do what the others can";
    Err(Error::new(ErrorKind::InvalidConfig, why).in_context("connect", own.backend, None))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dlock_core::memory::Memory;

    use super::*;

    #[tokio::test]
    async fn they_are_the_strictest_of_all() {
        let memory = Memory::new().capabilities();
        let guarded = Capabilities {
            ttl_min: Duration::from_millis(100),
            restart_guard: Duration::from_secs(30),
            waiting: Waiting::Polled,
            held_max: Some(7),
            ..memory
        };
        let session = Capabilities {
            expiry: Expiry::Session,
            held_max: Some(9),
            ..memory
        };
        let all = capabilities(&[memory, guarded, session], true);
        assert_eq!(all.modes, Modes::Exclusive);
        assert_eq!(all.fencing, Fencing::Growing);
        assert_eq!(all.expiry, Expiry::Session);
        assert_eq!(all.waiting, Waiting::Polled);
        assert_eq!(all.held_max, Some(7));
        let ttls = (guarded.ttl_min, guarded.restart_guard);
        assert_eq!((all.ttl_min, all.ttl_max), ttls);
        assert_eq!(all.takeover_max, memory.takeover_max * 3);
        assert_eq!(capabilities(&[memory], false).fencing, Fencing::None);
    }

    /// Core renews no lock that ends with the process.
    #[tokio::test]
    async fn a_node_that_opens_later_does_not_change_how_locks_end() {
        let memory = Memory::new();
        let quorum = |expiry| Capabilities {
            expiry,
            ..memory.capabilities()
        };
        assert!(fits(&quorum(memory.capabilities().expiry), &memory).is_ok());
        let error = fits(&quorum(Expiry::Process), &memory).expect_err("another expiry");
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    }
}
