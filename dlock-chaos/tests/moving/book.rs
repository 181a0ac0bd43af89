//! The history of all workers, and how often each name was granted.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use dlock_core::{Clock, toolkit::Lock};
use dlock_verify::{
    checker::Facts,
    ensure,
    history::{Event, EventKind, FaultPhase},
    support::{Outcome, within},
};
use tokio::sync::watch;

use super::protocol::{NAMES, Report};

/// The bound on each wait for grants.
const GRANTS_WITHIN: Duration = Duration::from_secs(40);

/// The history of a move.
pub(crate) struct Book {
    inner: Lock<Inner>,
    grants: watch::Sender<Grants>,
    clock: Clock,
}

/// The numbers of grants so far.
#[derive(Clone, Debug, Default)]
struct Grants {
    of_names: [u64; NAMES.len()],
    of_clients: BTreeMap<u32, u64>,
}

#[derive(Default)]
struct Inner {
    events: Vec<Event>,
    /// The names of open attempts.
    open: HashMap<(u32, u64), usize>,
    unexpected: Vec<String>,
    /// Why the worker that was forgotten is refused.
    refused: Vec<String>,
}

impl Book {
    pub(crate) fn new() -> Self {
        Self {
            inner: Lock::default(),
            grants: watch::Sender::default(),
            clock: Clock::boottime(),
        }
    }

    /// The time, as events have it.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().as_nanos()
    }

    pub(crate) fn take(&self, report: Report) {
        match report {
            Report::Event(event) => self.record(event),
            Report::Unexpected(text) => self.inner.lock().unexpected.push(text),
            Report::Refused(text) => self.inner.lock().refused.push(text),
        }
    }

    pub(crate) fn record(&self, event: Event) {
        let mut inner = self.inner.lock();
        let client = event.client;
        let granted = match &event.kind {
            EventKind::Requested { op, name, .. } => {
                let name = NAMES.iter().position(|known| **known == **name);
                inner.open.extend(name.map(|name| ((client, *op), name)));
                None
            }
            EventKind::Granted { op, .. } => inner.open.remove(&(client, *op)),
            _ => None,
        };
        inner.events.push(event);
        drop(inner);
        if let Some(name) = granted {
            self.grants.send_modify(|grants| {
                grants.of_names[name] += 1;
                *grants.of_clients.entry(client).or_default() += 1;
            });
        }
    }

    /// Records what happens to a worker at this moment.
    pub(crate) fn note(&self, client: u32, kind: EventKind) {
        self.record(Event::new(self.now(), client, kind));
    }

    /// Records the begin or the end of a fault.
    pub(crate) fn fault(&self, id: u32, kind: &str, phase: FaultPhase) {
        let (kind, target) = (kind.into(), "store".into());
        self.note(
            0,
            EventKind::Fault {
                id,
                kind,
                target,
                phase,
            },
        );
    }

    /// Waits until each name was granted so often again.
    pub(crate) async fn granted(&self, more: u64, when: &str) -> Outcome {
        let before = self.grants.borrow().of_names;
        let what = format!("{more} more grants of each name, {when}");
        let is_enough = move |now: &Grants| {
            let mut both = now.of_names.iter().zip(before);
            both.all(|(now, before)| *now >= before + more)
        };
        self.until(what, is_enough).await
    }

    /// Waits until a client has so many grants.
    pub(crate) async fn granted_to(&self, client: u32, count: u64) -> Outcome {
        let what = format!("{count} grants of client {client}");
        let is_enough =
            move |now: &Grants| now.of_clients.get(&client).is_some_and(|now| *now >= count);
        self.until(what, is_enough).await
    }

    async fn until(&self, what: String, is_enough: impl FnMut(&Grants) -> bool) -> Outcome {
        let mut grants = self.grants.subscribe();
        drop(within(GRANTS_WITHIN, what, grants.wait_for(is_enough)).await??);
        self.expected()
    }

    /// Fails for an error that no fault explains.
    pub(crate) fn expected(&self) -> Outcome {
        let inner = self.inner.lock();
        let first = inner.unexpected.first().cloned();
        drop(inner);
        ensure!(first.is_none(), "unexpected: {}", first.unwrap_or_default());
        Ok(())
    }

    /// Why the worker that was forgotten is refused: the last reason.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.inner.lock().refused.last().cloned()
    }

    /// All events, as the checks read them.
    pub(crate) fn facts(&self) -> Facts {
        self.inner.lock().events.iter().collect()
    }
}
