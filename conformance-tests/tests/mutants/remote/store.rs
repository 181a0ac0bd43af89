//! The state of the store, and its answers.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use dlock_core::{BootInstant, Clock};

use super::{
    flaw::Flaw,
    wire::{Answer, Request, What},
};

/// A waiter that has not polled for this long has lost its queue position.
const PLACE_MAX: Duration = Duration::from_millis(400);

#[derive(Debug)]
struct Held {
    by: Request,
    token: u64,
    until: BootInstant,
}

#[derive(Debug)]
pub(super) struct Store {
    pub(super) flaw: Flaw,
    clock: Clock,
    held: HashMap<String, Held>,
    /// The waiters, and when each polled last.
    queues: HashMap<String, Vec<(Request, BootInstant)>>,
    undone: HashSet<u128>,
    closed: HashSet<u64>,
    tokens: u64,
    /// The longest ttl in use.
    ttl_max: Duration,
    /// The time before which nothing is granted.
    grants_from: BootInstant,
}

impl Store {
    pub(super) fn new(flaw: Flaw) -> Self {
        let clock = Clock::boottime();
        Self {
            flaw,
            grants_from: clock.now(),
            clock,
            held: HashMap::new(),
            queues: HashMap::new(),
            undone: HashSet::new(),
            closed: HashSet::new(),
            tokens: 0,
            ttl_max: Duration::ZERO,
        }
    }

    pub(super) fn answer(&mut self, request: &Request) -> Answer {
        self.tidy(&request.name);
        let held = self.held.get_mut(&request.name);
        let own = held.filter(|held| held.by.attempt == request.attempt);
        match request.what {
            What::Try | What::Wait => self.take(request),
            What::Renew => match own {
                Some(held) => {
                    held.until = self.clock.now().after(request.ttl);
                    Answer::Done
                }
                None => Answer::Gone,
            },
            What::Release => {
                self.undone.insert(request.attempt);
                self.end(|by| by.attempt == request.attempt);
                Answer::Done
            }
            What::Inspect => {
                let held = self.held.get(&request.name);
                Answer::Held(held.map(|held| (held.by.holder.clone(), held.token)))
            }
            What::Close => {
                self.closed.insert(request.client);
                self.end(|by| by.client == request.client);
                Answer::Done
            }
        }
    }

    fn take(&mut self, request: &Request) -> Answer {
        if self.undone.contains(&request.attempt) || self.closed.contains(&request.client) {
            return Answer::Gone;
        }
        let now = self.clock.now();
        let queue = self.queues.entry(request.name.clone()).or_default();
        let place = queue
            .iter_mut()
            .find(|(by, _)| by.attempt == request.attempt);
        match place {
            Some((_, last_request)) => *last_request = now,
            None if request.what == What::Wait => queue.push((request.clone(), now)),
            None => {}
        }
        let first = queue
            .first()
            .is_none_or(|(by, _)| by.attempt == request.attempt);
        if first && now >= self.grants_from && !self.held.contains_key(&request.name) {
            queue.retain(|(by, _)| by.attempt != request.attempt);
            self.grant(request.clone());
        }
        match self.held.get(&request.name) {
            Some(held) if held.by.attempt == request.attempt => Answer::Granted(held.token),
            _ => Answer::Taken,
        }
    }

    fn grant(&mut self, by: Request) {
        self.tokens += 1;
        self.ttl_max = self.ttl_max.max(by.ttl);
        let (token, until) = (self.tokens, self.clock.now().after(by.ttl));
        self.held.insert(by.name.clone(), Held { by, token, until });
    }

    /// Drops expired holds and waiters.
    fn tidy(&mut self, name: &str) {
        let now = self.clock.now();
        self.held.retain(|_, held| held.until > now);
        let Some(queue) = self.queues.get_mut(name) else {
            return;
        };
        if self.flaw != Flaw::QueuesTheDead {
            queue.retain(|(_, last_request)| now.since(*last_request) < PLACE_MAX);
        } else if !queue.is_empty() && !self.held.contains_key(name) {
            let (by, _) = queue.remove(0);
            self.grant(by);
        }
    }

    /// Ends holds and places.
    fn end(&mut self, ends: impl Fn(&Request) -> bool) {
        self.held.retain(|_, held| !ends(&held.by));
        for queue in self.queues.values_mut() {
            queue.retain(|(by, _)| !ends(by));
        }
    }

    pub(super) fn restart_count(&mut self) {
        if self.flaw == Flaw::RestartsCount {
            self.tokens = 0;
        }
    }

    /// Takes the lock away.
    pub(super) fn remove(&mut self, name: &str) {
        self.held.remove(name);
        self.restart_count();
    }

    /// Ends all that the holder's client has.
    pub(super) fn end_session(&mut self, name: &str) {
        if let Some(held) = self.held.remove(name) {
            self.end(|by| by.client == held.by.client);
        }
        self.restart_count();
    }

    /// Drops all holds and waiters.
    pub(super) fn lose_data(&mut self) {
        self.end(|_| true);
        self.restart_count();
        if self.flaw != Flaw::GrantsAtOnce {
            self.grants_from = self.clock.now().after(self.ttl_max);
        }
    }

    /// The names that are held or waited for.
    pub(super) fn names(&mut self) -> Vec<String> {
        let names: Vec<_> = self.queues.keys().cloned().collect();
        for name in &names {
            self.tidy(name);
        }
        let waited_for = self.queues.iter().filter(|(_, queue)| !queue.is_empty());
        let names = self.held.keys().chain(waited_for.map(|(name, _)| name));
        names.cloned().collect()
    }
}
