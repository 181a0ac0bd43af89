//! The capabilities of two stores together.

use std::time::Duration;

use dlock_core::{Capabilities, Expiry, Modes, Order, Waiting};

use crate::schemes::MIGRATE;

/// The capabilities of a migration from the store with `old` to that with `new`, without I/O.
#[must_use]
pub fn capabilities(old: &Capabilities, new: &Capabilities) -> Capabilities {
    let mut ttl_max = old.ttl_max.min(new.ttl_max);
    let [shorter, restart_guard] = sorted(old.restart_guard, new.restart_guard);
    // A longer ttl would outlast it. That of both is the longer one.
    if !shorter.is_zero() && shorter != restart_guard {
        ttl_max = ttl_max.min(shorter);
    }
    Capabilities {
        backend: MIGRATE,
        modes: if old.modes == new.modes {
            old.modes
        } else {
            Modes::Exclusive
        },
        fencing: old.fencing,
        order: Order::Unordered,
        waiting: either(
            old.waiting,
            new.waiting,
            &[Waiting::Polled, Waiting::Blocking],
        ),
        expiry: either(old.expiry, new.expiry, &[Expiry::Session, Expiry::Lease]),
        ttl_min: old.ttl_min.max(new.ttl_min),
        ttl_max,
        held_max: [old.held_max, new.held_max].into_iter().flatten().min(),
        takeover_max: old.takeover_max.saturating_add(new.takeover_max),
        restart_guard,
    }
}

fn sorted(one: Duration, other: Duration) -> [Duration; 2] {
    [one.min(other), one.max(other)]
}

/// The first of `order` that either has, else what both have.
fn either<T: Copy + PartialEq>(old: T, new: T, order: &[T]) -> T {
    let has = |which: &&T| old == **which || new == **which;
    order.iter().find(has).copied().unwrap_or(old)
}

#[cfg(test)]
mod tests {
    use dlock_core::{backend::DistributedLock, memory::Memory};

    use super::*;

    #[tokio::test]
    async fn they_are_the_stricter_of_both() {
        let memory = Memory::new().capabilities();
        let old = Capabilities {
            ttl_min: Duration::from_millis(100),
            restart_guard: Duration::from_secs(30),
            waiting: Waiting::Polled,
            held_max: Some(7),
            ..memory
        };
        let new = Capabilities {
            modes: Modes::Exclusive,
            expiry: Expiry::Session,
            held_max: Some(9),
            restart_guard: Duration::from_secs(40),
            ..memory
        };
        let both = capabilities(&old, &new);
        assert_eq!(both.modes, Modes::Exclusive);
        assert_eq!(both.expiry, Expiry::Session);
        assert_eq!(both.waiting, Waiting::Polled);
        assert_eq!(both.held_max, Some(7));
        assert_eq!(
            (both.ttl_min, both.ttl_max),
            (old.ttl_min, old.restart_guard)
        );
        assert_eq!(both.restart_guard, new.restart_guard);
        assert_eq!(both.takeover_max, memory.takeover_max * 2);
        // One guard alone is the bound of a ttl, and no other is needed.
        for one in [capabilities(&old, &memory), capabilities(&old, &old)] {
            assert_eq!(one.ttl_max, memory.ttl_max);
            assert_eq!(one.restart_guard, old.restart_guard);
        }
    }
}
