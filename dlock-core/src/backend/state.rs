//! The life of one attempt, in one atomic number and nothing else, so that loom can search it.
//!
//! ```text
//! pending ──grant──▶ held until d ──release──▶ released
//!    │ │                │   ▲ └─extend─┘
//!    │ └─────lose─────▶ lost(cause) ◀─lose, or d has passed
//!    └──cancel──▶ cancelled
//! ```
//!
//! Each arrow is one compare-exchange, so of two things that happen at once exactly one counts. They are grant or
//! cancel (K7), release or loss (K8), renewal or release (K4). A hold and its deadline are the same number, so the
//! two are never read apart.

use super::atomic::{AtomicU64, Ordering};
use crate::base::cause::LostCause;

const PENDING: u64 = 0;
const CANCELLED: u64 = 1;
const RELEASED: u64 = 2;
const LOST: u64 = 8;
/// The smallest number of a hold: each is held until that many nanoseconds on the clock.
const HELD: u64 = 64;

/// The phase of an attempt at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Pending,
    Cancelled,
    /// Held until this many nanoseconds on the clock.
    Held(u64),
    Released,
    Lost(LostCause),
}

impl Phase {
    fn of(bits: u64) -> Self {
        match bits {
            PENDING => Self::Pending,
            CANCELLED => Self::Cancelled,
            RELEASED => Self::Released,
            HELD.. => Self::Held(bits),
            other => Self::Lost(
                LostCause::from_index(other.wrapping_sub(LOST)).unwrap_or(LostCause::Expired),
            ),
        }
    }
}

#[derive(Debug)]
pub(crate) struct State(AtomicU64);

impl State {
    pub(crate) fn pending() -> Self {
        Self(AtomicU64::new(PENDING))
    }

    pub(crate) fn phase(&self) -> Phase {
        Phase::of(self.0.load(Ordering::Acquire))
    }

    /// Pending → held until `deadline`, unless it has passed at `now`.
    ///
    /// Fails with what the attempt is instead: cancelled or lost (also by coming too late).
    pub(crate) fn grant(&self, now: u64, deadline: u64) -> Result<(), Phase> {
        let next = if now < deadline {
            deadline.max(HELD)
        } else {
            lost(LostCause::Expired)
        };
        match self.swap(PENDING, next) {
            Ok(()) if now < deadline => Ok(()),
            Ok(()) => Err(Phase::of(next)),
            Err(found) => Err(Phase::of(found)),
        }
    }

    /// Pending → cancelled; whether it was pending.
    pub(crate) fn cancel(&self) -> bool {
        self.swap(PENDING, CANCELLED).is_ok()
    }

    /// Pending or held → lost; what it was before, if this call did it.
    pub(crate) fn lose(&self, cause: LostCause) -> Option<Phase> {
        let mut before = None;
        let changed = self.change(|bits| match Phase::of(bits) {
            phase @ (Phase::Pending | Phase::Held(_)) => {
                before = Some(phase);
                Some(lost(cause))
            }
            Phase::Cancelled | Phase::Released | Phase::Lost(_) => None,
        });
        changed.ok().and(before)
    }

    /// Held → lost by time, if the deadline has passed at `now`; whether this call did it.
    pub(crate) fn expire(&self, now: u64) -> bool {
        self.change(|bits| match Phase::of(bits) {
            Phase::Held(deadline) if deadline <= now => Some(lost(LostCause::Expired)),
            _ => None,
        })
        .is_ok()
    }

    /// Moves the deadline of a hold forward, never back. A hold whose deadline has passed at `now`
    /// stays as it is: a reply that comes after it revives nothing (K2).
    pub(crate) fn extend(&self, now: u64, deadline: u64) {
        let _ = self.change(|bits| match Phase::of(bits) {
            Phase::Held(old) if now < old && old < deadline => Some(deadline),
            _ => None,
        });
    }

    /// Held → released; any other phase is given back as it is. A caller that releases calls
    /// [`expire`](Self::expire) first, so that a hold that is over by time ends as lost.
    pub(crate) fn release(&self) -> Result<(), Phase> {
        let end = |bits| matches!(Phase::of(bits), Phase::Held(_)).then_some(RELEASED);
        self.change(end).map(drop).map_err(Phase::of)
    }

    fn swap(&self, from: u64, to: u64) -> Result<(), u64> {
        self.0
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
            .map(drop)
    }

    /// Applies `next` until it sticks: the new bits, or the old ones where it says `None`.
    fn change(&self, mut next: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64> {
        let mut bits = self.0.load(Ordering::Acquire);
        loop {
            let Some(to) = next(bits) else {
                return Err(bits);
            };
            match self.swap(bits, to) {
                Ok(()) => return Ok(to),
                Err(found) => bits = found,
            }
        }
    }
}

const fn lost(cause: LostCause) -> u64 {
    LOST + cause as u64
}
