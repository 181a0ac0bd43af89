//! Until when a store may have an entry of an attempt.

use super::{
    attempt::{Grant, NEVER, Ungranted},
    bounds::Bounds,
    facts::{Facts, Span},
};

/// The begin of the target of a fault that harms one client only.
const OF_WORKER: &str = "worker";

/// Answers until when a store may have an entry of an attempt.
pub(super) struct Presence {
    /// The begins of the faults, each with the latest end of the faults up to it.
    faults: Vec<(u64, u64)>,
    /// The faults after which a store may count its times from zero, such as a change of its leader.
    of_servers: Vec<Span>,
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
            of_servers: facts
                .faults
                .iter()
                .filter(|fault| !fault.target.starts_with(OF_WORKER))
                .map(|fault| fault.span)
                .collect(),
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

    /// An entry outlives its attempt, the more so if a fault holds a request back. Its time begins again with each
    /// fault of the servers that begins while it may be there.
    fn extended(&self, span: Span) -> Span {
        let begun = self.faults.partition_point(|(from, _)| *from <= span.to);
        // The fault that ends last, if it had not ended before the request.
        let fault = begun.checked_sub(1).map_or(0, |last| self.faults[last].1);
        let mut to = span.to.max(fault).saturating_add(self.entry_max);
        let later = self.of_servers.partition_point(|one| one.from <= span.to);
        for one in &self.of_servers[later..] {
            if one.from > to {
                break;
            }
            to = to.max(one.to.saturating_add(self.entry_max));
        }
        Span {
            from: span.from,
            to,
        }
    }
}
