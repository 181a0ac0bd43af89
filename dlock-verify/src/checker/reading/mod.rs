//! Reads the facts of a history from its events.

mod attempts;
mod grow;
mod surroundings;

use self::attempts::OpenAttempts;
use super::facts::Facts;
use crate::history::Event;

/// The facts of a history while its events are read, one after the other.
///
/// ```
/// use dlock_verify::{checker::Reading, history::{Event, EventKind}};
///
/// let mut reading = Reading::default();
/// reading.add(&Event::new(5, 1, EventKind::Killed));
/// assert_eq!(reading.finish().grant_count(), 0);
/// ```
#[derive(Debug, Default)]
pub struct Reading {
    facts: Facts,
    attempts: OpenAttempts,
}

impl Reading {
    /// Reads one event. Events of one client come in their order.
    pub fn add(&mut self, event: &Event) {
        let facts = &mut self.facts;
        facts.begins = match facts.event_count {
            0 => event.at,
            _ => facts.begins.min(event.at),
        };
        facts.event_count += 1;
        facts.ends = facts.ends.max(event.at);
        let of_attempt = self.attempts.read(event, &mut facts.names);
        let of_surroundings = surroundings::read(event, facts);
        if of_attempt.or(of_surroundings) != Some(true) {
            facts.malformed.push(event.clone());
        }
    }

    /// The facts, when all events are read.
    #[must_use]
    pub fn finish(mut self) -> Facts {
        let facts = &mut self.facts;
        surroundings::without_stops(facts);
        self.attempts.finish(facts.ends, &mut facts.names);
        for attempts in facts.names.values_mut() {
            let grants = &mut attempts.grants;
            grants.sort_unstable_by_key(|grant| (grant.from, grant.client, grant.op));
            let ungranted = &mut attempts.ungranted;
            ungranted.sort_unstable_by_key(|one| (one.requested, one.client, one.op));
        }
        facts
            .faults
            .sort_by_key(|fault| (fault.span.from, fault.id));
        facts.listings.sort_by_key(|(at, _)| *at);
        for times in facts.destroyed.values_mut() {
            times.sort_unstable();
        }
        self.facts
    }
}

impl<'a> FromIterator<&'a Event> for Facts {
    fn from_iter<I: IntoIterator<Item = &'a Event>>(events: I) -> Self {
        let mut reading = Reading::default();
        for event in events {
            reading.add(event);
        }
        reading.finish()
    }
}
