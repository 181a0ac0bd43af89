//! The reports of the workers, and the answers to them.

use std::{collections::HashMap, fmt, sync::Arc};

use dlock_core::{Clock, toolkit::Lock};
use tokio::sync::watch;

use super::{
    armed::{Armed, Occasion},
    counts::Counts,
};
use crate::{
    chaos::client::{Order, Report, Resources},
    history::{Event, EventKind, History, Name, Names, RefusalKind, RegisterKind, Registers},
};

/// How many unexpected refusals are kept; the others are like them.
const UNEXPECTED_MAX: usize = 5;

/// The client of events that are of none.
const NO_CLIENT: u32 = 0;

/// Collects the reports of all workers, answers their accesses, and fires triggers.
pub(in crate::chaos) struct Observer {
    history: Arc<History>,
    registers: Registers,
    clock: Clock,
    names: Vec<String>,
    state: Lock<State>,
    armed: Armed,
    /// By worker.
    counts: watch::Sender<Vec<Counts>>,
    /// How many workers have paused since the last order to.
    paused: watch::Sender<usize>,
    resources: watch::Sender<Vec<Resources>>,
    /// Errors that no fault explains.
    unexpected: Lock<Vec<String>>,
}

/// Attempts by client and number, with the names that they request or hold.
#[derive(Default)]
struct State {
    interned: Names,
    requested: HashMap<(u32, u64), Name>,
    held: HashMap<(u32, u64), Name>,
}

impl Observer {
    pub(in crate::chaos) fn new(names: Vec<String>, workers: usize) -> Self {
        let (history, clock) = (Arc::new(History::default()), Clock::boottime());
        let written = history.clone();
        Self {
            registers: Registers::new(clock.clone(), move |event| written.record(event)),
            history,
            clock,
            names,
            state: Lock::default(),
            armed: Armed::default(),
            counts: watch::Sender::new(vec![Counts::default(); workers]),
            paused: watch::Sender::default(),
            resources: watch::Sender::default(),
            unexpected: Lock::default(),
        }
    }

    pub(in crate::chaos) fn events(&self) -> Vec<Event> {
        self.history.events()
    }

    /// Records an event that is of no client, at this moment.
    pub(in crate::chaos) fn record(&self, kind: EventKind) {
        let at = self.clock.now().as_nanos();
        self.history.record(Event::new(at, NO_CLIENT, kind));
    }

    /// The counts of all workers so far.
    pub(in crate::chaos) fn counts(&self) -> Counts {
        sum(&self.counts.borrow())
    }

    /// The counts of one worker so far.
    pub(in crate::chaos) fn counts_of(&self, worker: usize) -> Counts {
        self.counts
            .borrow()
            .get(worker)
            .copied()
            .unwrap_or_default()
    }

    pub(in crate::chaos) fn unexpected(&self) -> Vec<String> {
        self.unexpected.lock().clone()
    }

    /// Waits for so many grants.
    pub(in crate::chaos) async fn until_grants(&self, grants: u64) {
        let mut counts = self.counts.subscribe();
        // The sender lives as long as `self`.
        let _ = counts.wait_for(|all| sum(all).grants >= grants).await;
    }

    /// Waits for an occasion: the worker that it happened to.
    pub(in crate::chaos) async fn occurs(&self, occasion: Occasion, nth: u32) -> usize {
        self.armed.occurs(occasion, nth).await
    }

    /// Forgets the pause before.
    pub(in crate::chaos) fn before_pause(&self) {
        self.paused.send_replace(0);
    }

    /// Forgets the resources that were reported before.
    pub(in crate::chaos) fn before_count(&self) {
        self.resources.send_replace(Vec::new());
    }

    pub(in crate::chaos) async fn until_paused(&self, workers: usize) {
        let mut paused = self.paused.subscribe();
        let _ = paused.wait_for(|paused| *paused >= workers).await;
    }

    /// The resources of so many workers, once they have reported them.
    pub(in crate::chaos) async fn resources(&self, workers: usize) -> Vec<Resources> {
        let mut resources = self.resources.subscribe();
        let found = resources.wait_for(|all| all.len() >= workers).await;
        found.map(|all| all.clone()).unwrap_or_default()
    }

    /// How many acquires and holds of a client are going on.
    pub(super) fn going_on(&self, client: u32) -> u64 {
        let state = self.state.lock();
        let all = state.requested.keys().chain(state.held.keys());
        all.filter(|(other, _)| *other == client).count() as u64
    }

    /// How many updates the registers lost that compare no tokens.
    pub(in crate::chaos) fn control_lost(&self) -> u64 {
        self.registers.control_lost()
    }

    /// Takes a report of a worker, and answers it.
    pub(super) fn take(&self, worker: usize, client: u32, report: Report) -> Option<Order> {
        match report {
            Report::Event(event) => self.event(worker, event),
            Report::BeforeWrite { name } => {
                let is_awaited = self
                    .state
                    .lock()
                    .requested
                    .values()
                    .any(|other| **other == *name);
                if is_awaited {
                    self.armed.observe(Occasion::BeforeWrite, worker);
                }
            }
            Report::Access {
                task,
                register,
                name,
                token,
                wrote,
            } => {
                let name = self.state.lock().interned.intern(&name);
                let value = match wrote {
                    None => self.registers.read(register, &name, token),
                    Some(value) => {
                        let written = self.registers.write(client, register, &name, token, value);
                        written.then_some(value)
                    }
                };
                if value.is_none() && register == RegisterKind::Fenced {
                    self.count(worker, |counts| counts.stale += 1);
                }
                return Some(Order::Answer { task, value });
            }
            Report::Unexpected(text) => {
                let mut unexpected = self.unexpected.lock();
                if unexpected.len() < UNEXPECTED_MAX {
                    unexpected.push(format!("client {client}: {text}"));
                }
            }
            Report::Paused => self.paused.send_modify(|paused| *paused += 1),
            Report::Resources(one) => self.resources.send_modify(|all| all.push(one)),
        }
        None
    }

    /// Takes an event of the history.
    pub(super) fn event(&self, worker: usize, mut event: Event) {
        let (client, mut state) = (event.client, self.state.lock());
        event.intern(&mut state.interned);
        match &event.kind {
            EventKind::Requested {
                op, name, waits, ..
            } => {
                if *waits && state.held.values().any(|held| held == name) {
                    self.armed.observe(Occasion::Queued, worker);
                }
                state.requested.insert((client, *op), name.clone());
            }
            EventKind::Granted { op, .. } => {
                if let Some(name) = state.requested.remove(&(client, *op)) {
                    let number = self.names.iter().position(|other| **other == *name);
                    state.held.insert((client, *op), name);
                    let granted = Occasion::Grant(number.unwrap_or_default());
                    self.armed.observe(granted, worker);
                }
                self.count(worker, |counts| counts.grants += 1);
            }
            EventKind::Refused { op, kind, .. } => {
                state.requested.remove(&(client, *op));
                if *kind == RefusalKind::Unavailable {
                    self.count(worker, |counts| counts.unanswered += 1);
                }
            }
            EventKind::Cancelled { op } => {
                state.requested.remove(&(client, *op));
            }
            // A loss may be recorded twice: when it is reported, and when it is found.
            EventKind::Lost { op } if state.held.remove(&(client, *op)).is_some() => {
                self.count(worker, |counts| counts.lost += 1);
            }
            EventKind::Releasing { op } => {
                state.held.remove(&(client, *op));
            }
            EventKind::Killed => {
                state.requested.retain(|(other, _), _| *other != client);
                let before = state.held.len();
                state.held.retain(|(other, _), _| *other != client);
                let lost = (before - state.held.len()) as u64;
                self.count(worker, |counts| counts.lost += lost);
            }
            _ => {}
        }
        drop(state);
        self.history.record(event);
    }

    fn count(&self, worker: usize, change: impl FnOnce(&mut Counts)) {
        self.counts.send_modify(|all| {
            if let Some(counts) = all.get_mut(worker) {
                change(counts);
            }
        });
    }
}

fn sum(counts: &[Counts]) -> Counts {
    counts
        .iter()
        .copied()
        .fold(Counts::default(), |sum, one| sum + one)
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer")
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}
