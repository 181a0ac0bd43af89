//! Which store a grant depends on, and which of them have lost it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU8, Ordering},
};

use dlock_core::{LostCause, backend::Attempt};
use tokio::sync::Notify;

/// A set of the two stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sides(u8);

impl Sides {
    pub(super) const NONE: Self = Self(0);
    pub(super) const OLD: Self = Self(1);
    pub(super) const NEW: Self = Self(2);
    pub(super) const BOTH: Self = Self(3);

    pub(super) const fn has(self, side: Self) -> bool {
        self.0 & side.0 != 0
    }
}

/// The losses of the two parts of an acquire. A loss of a part that the grant depends on is one of the grant (K8).
#[derive(Debug)]
pub(super) struct Watch {
    attempt: Attempt,
    /// Whether it is known that the new store counts.
    is_switched: Arc<AtomicBool>,
    /// The stores that the grant depends on; none before it.
    required: AtomicU8,
    lost: AtomicU8,
    changed: Notify,
}

impl Watch {
    pub(super) fn new(attempt: Attempt, is_switched: Arc<AtomicBool>) -> Self {
        Self {
            attempt,
            is_switched,
            required: AtomicU8::new(0),
            lost: AtomicU8::new(0),
            changed: Notify::new(),
        }
    }

    /// The part of `side` is lost.
    pub(super) fn lose(&self, side: Sides, cause: LostCause) {
        // With `require`: each writes its own value before it reads the other one, so that one of the two sees both.
        self.lost.fetch_or(side.0, Ordering::SeqCst);
        if side == Sides::OLD && self.is_switched.load(Ordering::Acquire) {
            // Every other process waits for the new store, too, so the grant depends on that alone.
            self.required.fetch_and(Sides::NEW.0, Ordering::SeqCst);
        } else if self.required().has(side) {
            self.attempt.report_lost(cause);
        }
        self.changed.notify_one();
    }

    /// Makes the grant depend on `sides`; whether none of them is lost already.
    pub(super) fn require(&self, sides: Sides) -> bool {
        self.required.store(sides.0, Ordering::SeqCst);
        self.lost.load(Ordering::SeqCst) & sides.0 == 0
    }

    pub(super) fn required(&self) -> Sides {
        Sides(self.required.load(Ordering::SeqCst))
    }

    /// Ends when the part of `side` is lost.
    pub(super) async fn until_lost(&self, side: Sides) {
        while self.lost.load(Ordering::SeqCst) & side.0 == 0 {
            self.changed.notified().await;
        }
    }
}
