//! The state of a memory store: holders and queues by name.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::Arc,
};

use tokio::sync::Notify;

use crate::{
    backend::{
        attempt::Attempt, attempt_id::AttemptId, holder::Holder, lease::Lease, options::Mode,
        request::AcquireRequest,
    },
    base::{
        cause::LostCause,
        clock::{BootInstant, Clock},
        lock::Lock,
        name::LockName,
        token::Token,
    },
};

pub(super) struct Store {
    clock: Clock,
    locks: Lock<Locks>,
    migration: Lock<Option<String>>,
}

#[derive(Default)]
struct Locks {
    by_name: HashMap<LockName, LockState>,
    last_token: u64,
}

#[derive(Default)]
struct LockState {
    held: Vec<Held>,
    queue: VecDeque<Waiting>,
}

struct Held {
    attempt: Attempt,
    client: usize,
    mode: Mode,
    token: Token,
    until: BootInstant,
    since_unix_micros: u64,
    note: Option<Arc<str>>,
}

struct Waiting {
    id: AttemptId,
    mode: Mode,
    turn: Arc<Notify>,
}

/// The answer that the lock is taken, until `free_at` unless it is renewed or released.
pub(super) struct Taken {
    pub(super) free_at: BootInstant,
}

/// A ticket in the queue of a name; it leaves the queue when dropped.
pub(super) struct Ticket<'a> {
    store: &'a Store,
    name: LockName,
    id: AttemptId,
    turn: Arc<Notify>,
}

impl Store {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            locks: Lock::default(),
            migration: Lock::default(),
        }
    }

    pub(super) fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// The record of a migration.
    pub(super) fn migration(&self) -> Option<String> {
        self.migration.lock().clone()
    }

    /// Writes the record if it is `expected`; whether it was.
    pub(super) fn set_migration(&self, expected: Option<&str>, next: &str) -> bool {
        let mut record = self.migration.lock();
        let is_expected = record.as_deref() == expected;
        if is_expected {
            *record = Some(next.to_owned());
        }
        is_expected
    }

    pub(super) async fn sleep_until(&self, until: BootInstant) {
        self.clock.sleep_until(until).await;
    }

    /// Enqueues the attempt.
    pub(super) fn queue(&self, request: &AcquireRequest) -> Ticket<'_> {
        let (id, turn) = (request.attempt.id(), Arc::new(Notify::new()));
        let waiting = Waiting {
            id,
            mode: request.mode,
            turn: turn.clone(),
        };
        let mut locks = self.locks.lock();
        locks
            .by_name
            .entry(request.name.clone())
            .or_default()
            .queue
            .push_back(waiting);
        Ticket {
            store: self,
            name: request.name.clone(),
            id,
            turn,
        }
    }

    /// Takes the lock if it is free and no other waiter is before `ticket`. The same attempt gets the
    /// same token again (K5, K9).
    pub(super) fn take(
        &self,
        request: &AcquireRequest,
        client: usize,
        ticket: Option<&Ticket<'_>>,
    ) -> Result<Token, Taken> {
        let now = self.clock.now();
        let until = now.after(request.ttl);
        let mut locks = self.locks.lock();
        let Locks {
            by_name,
            last_token,
        } = &mut *locks;
        let lock = by_name.entry(request.name.clone()).or_default();
        lock.expire(now);
        if let Some(mine) = lock.held_by(request.attempt.id()) {
            mine.until = until;
            return Ok(mine.token);
        }
        lock.admit(request.mode, ticket.map(|ticket| ticket.id))?;
        *last_token += 1;
        let token = Token::new(*last_token).ok_or(Taken {
            free_at: BootInstant::FOREVER,
        })?;
        if lock.held.is_empty() {
            // Most locks have one holder for all their life; a vector would make room for four.
            lock.held.reserve_exact(1);
        }
        lock.held.push(Held {
            attempt: request.attempt.clone(),
            client,
            mode: request.mode,
            token,
            until,
            since_unix_micros: request.clock().unix_micros(),
            note: request.note.clone(),
        });
        Ok(token)
    }

    /// Moves the end of a hold; never re-creates it (K3).
    pub(super) fn extend(&self, lease: &Lease) -> Result<(), LostCause> {
        let now = self.clock.now();
        let mut locks = self.locks.lock();
        let lock = locks
            .by_name
            .get_mut(&lease.name)
            .ok_or(LostCause::Removed)?;
        lock.expire(now);
        let gone = if lock.held.is_empty() {
            LostCause::Removed
        } else {
            LostCause::Taken
        };
        lock.held_by(lease.id()).ok_or(gone)?.until = now.after(lease.ttl);
        Ok(())
    }

    /// Raises the counter, and the token of the hold, to `token` at least; whether the attempt has the lock.
    pub(super) fn raise(&self, name: &LockName, id: AttemptId, token: Token) -> bool {
        let now = self.clock.now();
        let mut locks = self.locks.lock();
        let Locks {
            by_name,
            last_token,
        } = &mut *locks;
        let Some(lock) = by_name.get_mut(name) else {
            return false;
        };
        lock.expire(now);
        let Some(mine) = lock.held_by(id) else {
            return false;
        };
        mine.token = mine.token.max(token);
        *last_token = (*last_token).max(token.get());
        true
    }

    pub(super) fn release(&self, name: &LockName, id: AttemptId) {
        self.change(name, |lock| {
            lock.held.retain(|held| held.attempt.id() != id)
        });
    }

    pub(super) fn release_client(&self, client: usize) {
        for name in self.names() {
            self.change(&name, |lock| lock.held.retain(|held| held.client != client));
        }
    }

    /// Ends every hold of `name`; whose they were.
    pub(super) fn remove(&self, name: &str) -> Vec<Attempt> {
        let Ok(name) = LockName::new(name) else {
            return Vec::new();
        };
        let mut removed = Vec::new();
        self.change(&name, |lock| {
            removed = lock.held.drain(..).map(|held| held.attempt).collect()
        });
        removed
    }

    pub(super) fn names(&self) -> Vec<LockName> {
        let now = self.clock.now();
        let mut locks = self.locks.lock();
        locks.by_name.retain(|_, lock| {
            lock.expire(now);
            !lock.is_unused()
        });
        locks.by_name.keys().cloned().collect()
    }

    pub(super) fn holder(&self, name: &LockName) -> Option<Holder> {
        let now = self.clock.now();
        let mut locks = self.locks.lock();
        let lock = locks.by_name.get_mut(name)?;
        lock.expire(now);
        let held = lock.held.first()?;
        Some(Holder {
            attempt: Some(held.attempt.id()),
            token: Some(held.token),
            mode: held.mode,
            since_unix_micros: Some(held.since_unix_micros),
            note: held.note.as_deref().map(str::to_owned),
            remaining: Some(held.until.since(now)),
            ..Holder::this_process()
        })
    }

    /// Changes a lock, wakes the waiter whose turn it is then, and removes a lock without holders and waiters.
    fn change(&self, name: &LockName, change: impl FnOnce(&mut LockState)) {
        let mut locks = self.locks.lock();
        let Some(lock) = locks.by_name.get_mut(name) else {
            return;
        };
        change(lock);
        lock.wake();
        if lock.is_unused() {
            locks.by_name.remove(name);
        }
    }
}

impl LockState {
    fn expire(&mut self, now: BootInstant) {
        self.held.retain(|held| held.until > now);
    }

    fn held_by(&mut self, id: AttemptId) -> Option<&mut Held> {
        self.held.iter_mut().find(|held| held.attempt.id() == id)
    }

    /// Whether `mode` can be granted now to the waiter with `id`. An attempt that is not in the queue comes after
    /// all waiters.
    fn admit(&self, mode: Mode, id: Option<AttemptId>) -> Result<(), Taken> {
        let compatible = |other: Mode| mode == Mode::Shared && other == Mode::Shared;
        let held = self.held.iter().filter(|held| !compatible(held.mode));
        if let Some(free_at) = held.map(|held| held.until).max() {
            return Err(Taken { free_at });
        }
        let mut before = self
            .queue
            .iter()
            .take_while(|waiting| Some(waiting.id) != id);
        if before.any(|waiting| !compatible(waiting.mode)) {
            // The waiter before takes the lock, or wakes this one when it leaves.
            return Err(Taken {
                free_at: BootInstant::FOREVER,
            });
        }
        Ok(())
    }

    /// Wakes the first in the queue; when a shared one has taken the lock and left its place, that
    /// wakes the next one.
    fn wake(&self) {
        if let Some(first) = self.queue.front() {
            first.turn.notify_one();
        }
    }

    fn is_unused(&self) -> bool {
        self.held.is_empty() && self.queue.is_empty()
    }
}

impl Ticket<'_> {
    /// Ends when it may be this one's turn.
    pub(super) async fn turn(&self) {
        self.turn.notified().await;
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let id = self.id;
        self.store.change(&self.name, |lock| {
            // Mostly the first one leaves.
            if lock.queue.front().is_some_and(|first| first.id == id) {
                lock.queue.pop_front();
            } else {
                lock.queue.retain(|waiting| waiting.id != id);
            }
        });
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("locks", &self.locks.lock().by_name.len())
            .finish()
    }
}
