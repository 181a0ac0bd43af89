//! Reads the grants of a history from its events.

use std::collections::{BTreeMap, HashMap};

use super::{grant::Grant, violation::Violation};
use crate::history::{Event, EventKind};

/// A grant while its history is read.
struct Open {
    grant: Grant,
    ended: bool,
}

/// The grants of a history, by name and in order of their start, with what makes no sense in it.
#[must_use]
pub fn grants(events: &[Event]) -> (BTreeMap<String, Vec<Grant>>, Vec<Violation>) {
    let mut requested: HashMap<(u32, u64), (String, bool, u64)> = HashMap::new();
    let mut open: HashMap<(u32, u64), Open> = HashMap::new();
    // By client, the grants since its last kill.
    let mut held: HashMap<u32, Vec<u64>> = HashMap::new();
    let mut violations = Vec::new();
    for Event { at, client, kind } in events {
        let known = match kind {
            EventKind::Requested { op, name, shared } => requested
                .insert((*client, *op), (name.clone(), *shared, *at))
                .is_none(),
            EventKind::Refused { op } => requested.remove(&(*client, *op)).is_some(),
            EventKind::Granted { op, token, until } => {
                let request = requested.remove(&(*client, *op));
                request.is_some_and(|(name, shared, requested)| {
                    let (client, op, from) = (*client, *op, *at);
                    let (to, token) = (*until, *token);
                    let grant = Grant {
                        name,
                        client,
                        op,
                        shared,
                        requested,
                        from,
                        to,
                        token,
                    };
                    held.entry(client).or_default().push(op);
                    open.insert(
                        (client, op),
                        Open {
                            grant,
                            ended: false,
                        },
                    )
                    .is_none()
                })
            }
            EventKind::Reported { op, until } => open
                .get_mut(&(*client, *op))
                .is_some_and(|open| open.report(*until)),
            EventKind::Lost { op } | EventKind::Releasing { op } => open
                .get_mut(&(*client, *op))
                .map(|open| open.end(*at))
                .is_some(),
            EventKind::Killed => {
                for op in held.remove(client).unwrap_or_default() {
                    if let Some(open) = open.get_mut(&(*client, op)) {
                        open.end(*at);
                    }
                }
                true
            }
        };
        if !known {
            let event = Event::new(*at, *client, kind.clone());
            violations.push(Violation::Malformed { event });
        }
    }
    let mut by_name: BTreeMap<String, Vec<Grant>> = BTreeMap::new();
    for Open { grant, .. } in open.into_values() {
        by_name.entry(grant.name.clone()).or_default().push(grant);
    }
    for grants in by_name.values_mut() {
        grants.sort_by_key(|grant| (grant.from, grant.client, grant.op));
    }
    (by_name, violations)
}

impl Open {
    /// Whether the report makes sense: an ended grant reports nothing.
    fn report(&mut self, until: u64) -> bool {
        if !self.ended {
            self.grant.to = until;
        }
        !self.ended
    }

    fn end(&mut self, at: u64) {
        self.ended = true;
        self.grant.to = self.grant.to.min(at);
    }
}
