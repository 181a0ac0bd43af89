//! The events of a run, stamped by the one clock of the host.
//!
//! All processes of a run are on one machine, so `CLOCK_BOOTTIME` orders their events. The history knows more than
//! any of its clients, and the [checker](crate::checker) can be a pure function of it.

use serde::{Deserialize, Serialize};

use super::{
    name::{Name, Names},
    outcome::{RefusalEffect, RefusalKind},
};

/// One thing that happened to one client. As JSON it is one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// The time, in nanoseconds on the boot-time clock.
    pub at: u64,
    /// The client: one locker at a time, alone in its process or not. Zero where the event is of no client.
    pub client: u32,
    /// The kind of event.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The kinds of events. `op` numbers the attempts of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// An acquire is about to be called.
    Requested {
        /// The attempt.
        op: u64,
        /// The lock.
        name: Name,
        /// Whether others may hold it too.
        shared: bool,
        /// Whether it waits if the lock is taken.
        waits: bool,
    },
    /// The acquire returned a guard.
    Granted {
        /// The attempt.
        op: u64,
        /// The token of the guard.
        token: u64,
        /// The end of the hold as the guard reports it; `u64::MAX` without a deadline.
        until: u64,
    },
    /// The guard is of a later locker of the client, whose first one has the number 0. A locker is not given the tokens
    /// of the one before.
    OfLocker {
        /// The attempt.
        op: u64,
        /// The number of the locker.
        locker: u16,
    },
    /// The acquire returned no guard.
    Refused {
        /// The attempt.
        op: u64,
        /// The kind of the error.
        kind: RefusalKind,
        /// Whether something of the attempt may be in the store.
        effect: RefusalEffect,
    },
    /// The caller dropped the acquire before it returned.
    Cancelled {
        /// The attempt.
        op: u64,
    },
    /// The guard reported its deadline once more.
    Reported {
        /// The attempt.
        op: u64,
        /// The end of the hold as the guard reports it.
        until: u64,
    },
    /// A task of the client awaits the loss of the guard: from now on a loss is recorded when it is reported.
    Watched {
        /// The attempt.
        op: u64,
        /// How often the task also records the deadline, in nanoseconds.
        every: u64,
    },
    /// The guard reported that it is lost.
    Lost {
        /// The attempt.
        op: u64,
    },
    /// The release is about to be called: the holder will not act any more.
    Releasing {
        /// The attempt.
        op: u64,
    },
    /// The release returned without an error: the store has confirmed it.
    Released {
        /// The attempt.
        op: u64,
    },
    /// A register has served an increment of the client. Those of one register are in the order in which it
    /// served them.
    Write {
        /// The name of the register, which is that of its lock.
        name: Name,
        /// Whether the register compares tokens.
        register: RegisterKind,
        /// The token that was shown.
        token: u64,
        /// The value: what the client read before, plus one.
        value: u64,
        /// Whether the register accepted it.
        accepted: bool,
    },
    /// The client's process is about to be killed: all that it holds ends.
    Killed,
    /// The client's process is about to be stopped (SIGSTOP).
    Stopped,
    /// The client's process goes on (SIGCONT).
    Resumed,
    /// The machine was too busy: a timer of the client was late by so much.
    Lagged {
        /// The lateness, in nanoseconds before `at`.
        by: u64,
    },
    /// A fault begins or has ended.
    Fault {
        /// The number of the fault in the plan.
        id: u32,
        /// The kind of the fault: `failover`.
        kind: Name,
        /// Where it is: `replica 1`.
        target: Name,
        /// Whether it begins or has ended.
        phase: FaultPhase,
    },
    /// A fault has removed the store's entry of the lock, so the loss of its holders is due.
    Destroyed {
        /// The lock.
        name: Name,
    },
    /// The entries of dlock that were in the store.
    Listed {
        /// The entries.
        entries: Vec<Entry>,
    },
}

/// The registers of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RegisterKind {
    /// Refuses tokens smaller than one that it has seen.
    Fenced,
    /// Accepts each write: the control of the run.
    Control,
}

/// The phases of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FaultPhase {
    /// The fault is about to begin.
    Begun,
    /// The fault has ended.
    Ended,
}

/// An entry of dlock in a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::exhaustive_structs,
    reason = "listings are made by each store's tools, and by hand in tests"
)]
pub struct Entry {
    /// The lock that the entry belongs to.
    pub name: Name,
    /// The entry as the store shows it: a key, a path or a row.
    pub what: String,
    /// Whether it may stay for ever by the store's documentation: a counter of tokens, the layout's version.
    pub documented: bool,
    /// The attempt that made it, as its note says.
    pub owner: Option<Owner>,
}

/// The attempt that an entry belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "the two numbers of an attempt")]
pub struct Owner {
    /// The client.
    pub client: u32,
    /// The number of the attempt among those of its client.
    pub op: u64,
}

impl Event {
    /// The event `kind` of `client` at `at` nanoseconds.
    #[must_use]
    pub const fn new(at: u64, client: u32, kind: EventKind) -> Self {
        Self { at, client, kind }
    }

    /// Makes its names clones of those in `names`.
    pub fn intern(&mut self, names: &mut Names) {
        match &mut self.kind {
            EventKind::Requested { name, .. }
            | EventKind::Write { name, .. }
            | EventKind::Destroyed { name } => *name = names.intern(name),
            EventKind::Fault { kind, target, .. } => {
                *kind = names.intern(kind);
                *target = names.intern(target);
            }
            EventKind::Listed { entries } => {
                for entry in entries {
                    entry.name = names.intern(&entry.name);
                }
            }
            _ => {}
        }
    }
}

impl Owner {
    /// The note of an acquire, which [`from_note`](Self::from_note) reads in a listing of the store.
    ///
    /// ```
    /// use dlock_verify::history::Owner;
    ///
    /// let owner = Owner { client: 3, op: 17 };
    /// assert_eq!(Owner::from_note(&owner.note()), Some(owner));
    /// assert_eq!(Owner::from_note("a note of another program"), None);
    /// ```
    #[must_use]
    pub fn note(self) -> String {
        format!("client {} attempt {}", self.client, self.op)
    }

    /// The owner whose note this is.
    #[must_use]
    pub fn from_note(note: &str) -> Option<Self> {
        let (client, op) = note.strip_prefix("client ")?.split_once(" attempt ")?;
        Some(Self {
            client: client.parse().ok()?,
            op: op.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_line(event: &Event, line: &str) {
        assert_eq!(serde_json::to_string(event).expect("json"), line);
        assert_eq!(&serde_json::from_str::<Event>(line).expect("event"), event);
    }

    #[test]
    fn an_event_is_one_line_of_json() {
        let granted = EventKind::Granted {
            op: 3,
            token: 12,
            until: u64::MAX,
        };
        let line = r#"{"at":5,"client":1,"event":"granted","op":3,"token":12,"until":18446744073709551615}"#;
        assert_line(&Event::new(5, 1, granted), line);
        assert_line(
            &Event::new(6, 1, EventKind::Killed),
            r#"{"at":6,"client":1,"event":"killed"}"#,
        );
        let refused = EventKind::Refused {
            op: 4,
            kind: RefusalKind::Contended,
            effect: RefusalEffect::None,
        };
        let line =
            r#"{"at":7,"client":1,"event":"refused","op":4,"kind":"contended","effect":"none"}"#;
        assert_line(&Event::new(7, 1, refused), line);
        let fault = EventKind::Fault {
            id: 31,
            kind: "failover".into(),
            target: "replica 1".into(),
            phase: FaultPhase::Begun,
        };
        let line = r#"{"at":8,"client":0,"event":"fault","id":31,"kind":"failover","target":"replica 1","phase":"begun"}"#;
        assert_line(&Event::new(8, 0, fault), line);
    }

    #[test]
    fn events_are_small() {
        assert!(size_of::<Event>() <= 48, "{}", size_of::<Event>());
    }
}
