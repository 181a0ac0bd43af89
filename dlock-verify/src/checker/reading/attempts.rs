//! Reads the events of attempts.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    mem,
};

use super::grow::push;
use crate::{
    checker::{
        attempt::{Grant, NEVER, Outcome, Ungranted},
        facts::Attempts,
    },
    history::{Event, EventKind, Name},
};

type ByName = BTreeMap<Name, Attempts>;

/// The attempts of which an event may follow.
#[derive(Debug, Default)]
pub(super) struct OpenAttempts {
    // By client and number.
    open: HashMap<(u32, u64), Open>,
    // By client, the numbers in `open`: what its death ends.
    alive: HashMap<u32, Vec<u64>>,
}

#[derive(Debug)]
enum Open {
    Pending(Pending),
    Granted(Grant),
}

#[derive(Debug)]
struct Pending {
    name: Name,
    shared: bool,
    waits: bool,
    requested: u64,
}

impl OpenAttempts {
    /// Reads an event of an attempt. Returns whether it makes sense; `None` if it is of no attempt.
    pub(super) fn read(&mut self, event: &Event, done: &mut ByName) -> Option<bool> {
        let (at, client) = (event.at, event.client);
        let is_known = match &event.kind {
            EventKind::Requested {
                op,
                name,
                shared,
                waits,
            } => {
                let pending = Pending {
                    name: name.clone(),
                    shared: *shared,
                    waits: *waits,
                    requested: at,
                };
                self.request(client, *op, pending)
            }
            EventKind::Granted { op, token, until } => self.grant(event, *op, *token, *until),
            EventKind::OfLocker { op, locker } => self.hold(client, *op, |grant| {
                grant.locker = *locker;
                true
            }),
            EventKind::Refused { op, kind, effect } => {
                self.refuse(client, *op, at, Outcome::Refused(*kind, *effect), done)
            }
            EventKind::Cancelled { op } => self.refuse(client, *op, at, Outcome::Cancelled, done),
            EventKind::Reported { op, until } => self.hold(client, *op, |grant| {
                let ended = grant.lost != NEVER || grant.quit != NEVER;
                if !ended {
                    (grant.until, grant.claimed) = (*until, at);
                }
                !ended
            }),
            EventKind::Watched { op, every } => self.hold(client, *op, |grant| {
                grant.watched_every = *every;
                true
            }),
            EventKind::Lost { op } => self.hold(client, *op, |grant| {
                grant.lost = grant.lost.min(at);
                true
            }),
            EventKind::Releasing { op } => self.hold(client, *op, |grant| {
                grant.quit = grant.quit.min(at);
                true
            }),
            EventKind::Released { op } => {
                let is_known = self.hold(client, *op, |grant| {
                    grant.released = at;
                    true
                });
                is_known && self.end(client, *op, at, Outcome::Open, done)
            }
            EventKind::Killed => {
                for op in self.alive.remove(&client).unwrap_or_default() {
                    self.end(client, op, at, Outcome::Killed, done);
                }
                return None;
            }
            _ => return None,
        };
        Some(is_known)
    }

    /// The history ends: so do all attempts.
    pub(super) fn finish(&mut self, ends: u64, done: &mut ByName) {
        for ((client, op), open) in mem::take(&mut self.open) {
            close(client, op, open, ends, Outcome::Open, done);
        }
    }

    fn request(&mut self, client: u32, op: u64, pending: Pending) -> bool {
        let Entry::Vacant(slot) = self.open.entry((client, op)) else {
            return false;
        };
        slot.insert(Open::Pending(pending));
        self.alive.entry(client).or_default().push(op);
        true
    }

    fn grant(&mut self, event: &Event, op: u64, token: u64, until: u64) -> bool {
        let (from, client) = (event.at, event.client);
        let Some(open) = self.open.get_mut(&(client, op)) else {
            return false;
        };
        let Open::Pending(pending) = open else {
            return false;
        };
        *open = Open::Granted(Grant {
            name: mem::take(&mut pending.name),
            client,
            locker: 0,
            op,
            shared: pending.shared,
            requested: pending.requested,
            from,
            token,
            until,
            claimed: from,
            lost: NEVER,
            quit: NEVER,
            released: NEVER,
            watched_every: NEVER,
        });
        true
    }

    /// Changes a grant; whether there is one, and the change makes sense.
    fn hold(&mut self, client: u32, op: u64, change: impl FnOnce(&mut Grant) -> bool) -> bool {
        match self.open.get_mut(&(client, op)) {
            Some(Open::Granted(grant)) => change(grant),
            _ => false,
        }
    }

    fn refuse(
        &mut self,
        client: u32,
        op: u64,
        at: u64,
        outcome: Outcome,
        done: &mut ByName,
    ) -> bool {
        let is_pending = matches!(self.open.get(&(client, op)), Some(Open::Pending(_)));
        is_pending && self.end(client, op, at, outcome, done)
    }

    /// No event of the attempt follows; whether it was open.
    fn end(&mut self, client: u32, op: u64, at: u64, outcome: Outcome, done: &mut ByName) -> bool {
        let Some(open) = self.open.remove(&(client, op)) else {
            return false;
        };
        if let Some(alive) = self.alive.get_mut(&client)
            && let Some(index) = alive.iter().rposition(|other| *other == op)
        {
            alive.swap_remove(index);
        }
        close(client, op, open, at, outcome, done);
        true
    }
}

fn close(client: u32, op: u64, open: Open, at: u64, outcome: Outcome, done: &mut ByName) {
    match open {
        Open::Pending(pending) => {
            let attempt = Ungranted {
                client,
                op,
                waits: pending.waits,
                requested: pending.requested,
                ended: at,
                outcome,
            };
            push(
                &mut done.entry(pending.name).or_default().ungranted,
                attempt,
            );
        }
        Open::Granted(mut grant) => {
            if outcome == Outcome::Killed {
                grant.quit = grant.quit.min(at);
            }
            let attempts = done.entry(grant.name.clone()).or_default();
            push(&mut attempts.grants, grant);
        }
    }
}
