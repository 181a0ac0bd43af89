//! Until when a store may have an entry of an attempt.

use super::{
    attempt::{Grant, NEVER, Ungranted},
    bounds::Bounds,
    facts::{Facts, Span},
};

/// Answers until when a store may have an entry of an attempt.
pub(super) struct Presence {
    /// The begins of the faults, each with the latest end of the faults up to it.
    faults: Vec<(u64, u64)>,
    entry_max: u64,
}

impl Presence {
    pub(super) fn new(facts: &Facts, bounds: &Bounds) -> Self {
        let mut latest = 0;
        let faults = facts.faults.iter().map(|fault| {
            latest = fault.span.to.max(latest);
            (fault.span.from, latest)
        });
        Self {
            faults: faults.collect(),
            entry_max: bounds.entry_max(),
        }
    }

    /// The time in which the store may have an entry of the grant.
    pub(super) fn of_grant(&self, grant: &Grant) -> Span {
        let from = grant.requested;
        if grant.released != NEVER {
            return Span {
                from,
                to: grant.released,
            };
        }
        let end = grant.lost.min(grant.quit);
        // The guard may have been dropped without an event, after its last report.
        let end = if end == NEVER {
            grant.until
        } else {
            end.max(grant.claimed)
        };
        self.extended(Span { from, to: end })
    }

    /// The time in which the store may have an entry of the attempt.
    pub(super) fn of_ungranted(&self, attempt: &Ungranted) -> Span {
        let span = Span {
            from: attempt.requested,
            to: attempt.ended,
        };
        if attempt.may_leave() {
            self.extended(span)
        } else {
            span
        }
    }

    /// An entry outlives its attempt, the more so if a fault holds a request back.
    fn extended(&self, span: Span) -> Span {
        let begun = self.faults.partition_point(|(from, _)| *from <= span.to);
        // The fault that ends last, if it had not ended before the request.
        let fault = begun.checked_sub(1).map_or(0, |last| self.faults[last].1);
        Span {
            from: span.from,
            to: span.to.max(fault).saturating_add(self.entry_max),
        }
    }
}
