//! How many nodes hold a lock. Too few of them are a loss of the grant (K8).

use dlock_core::{LostCause, backend::Attempt, toolkit::Lock};

/// The identity of a part of a grant within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartId(u32);

/// The parts of an acquire that are held, as far as the nodes have not reported their loss.
#[derive(Debug)]
pub(super) struct Tally {
    attempt: Attempt,
    need: usize,
    parts: Lock<Parts>,
}

#[derive(Debug, Default)]
struct Parts {
    next: u32,
    held: Vec<PartId>,
    /// Lost before they were counted.
    lost: Vec<PartId>,
    is_granted: bool,
}

impl Tally {
    pub(super) fn new(attempt: Attempt, need: usize) -> Self {
        Self {
            attempt,
            need,
            parts: Lock::default(),
        }
    }

    /// The identity of the next part that is requested.
    pub(super) fn next(&self) -> PartId {
        let mut parts = self.parts.lock();
        parts.next += 1;
        PartId(parts.next)
    }

    /// Counts a part; false if its loss came before.
    pub(super) fn hold(&self, part: PartId) -> bool {
        let mut parts = self.parts.lock();
        if parts.lost.contains(&part) {
            return false;
        }
        parts.held.push(part);
        true
    }

    /// A part is lost, which may make the grant a lost one.
    pub(super) fn lose(&self, part: PartId, cause: LostCause) {
        let is_loss = {
            let mut parts = self.parts.lock();
            let before = parts.held.len();
            parts.held.retain(|held| *held != part);
            if parts.held.len() == before {
                parts.lost.push(part);
            }
            // Once: at the part that makes it too few.
            parts.is_granted && before == self.need && parts.held.len() < before
        };
        if is_loss {
            self.attempt.report_lost(cause);
        }
    }

    /// Makes later losses losses of the grant; false if too few parts are held.
    pub(super) fn grant(&self) -> bool {
        let mut parts = self.parts.lock();
        parts.is_granted = parts.held.len() >= self.need;
        parts.is_granted
    }

    /// Whether the part is held, as far as its node has not reported a loss.
    pub(super) fn is_held(&self, part: PartId) -> bool {
        self.parts.lock().held.contains(&part)
    }
}
