//! The events of a run, stamped by the one clock of the host.
//!
//! All processes of a run are on one machine, so `CLOCK_BOOTTIME` orders their events. The history knows more than
//! any of its clients, and the [checker](crate::checker) can be a pure function of it.

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use dlock_core::toolkit::Lock;

/// One thing that happened to one client. As JSON it is one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// The time, in nanoseconds on the boot-time clock.
    pub at: u64,
    /// The client: one locker, alone in its process or not.
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
    #[serde(rename = "asked")]
    Requested {
        /// The attempt.
        op: u64,
        /// The lock.
        name: String,
        /// Whether others may hold it too.
        shared: bool,
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
    /// The acquire returned no guard.
    Refused {
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
    /// The guard said that it is lost.
    Lost {
        /// The attempt.
        op: u64,
    },
    /// The release is about to be called: the holder will not act any more.
    Releasing {
        /// The attempt.
        op: u64,
    },
    /// The client's process is about to be killed: all that it holds ends.
    Killed,
}

impl Event {
    /// The event `what` of `client` at `at` nanoseconds.
    #[must_use]
    pub const fn new(at: u64, client: u32, kind: EventKind) -> Self {
        Self { at, client, kind }
    }
}

/// A history that is being written: by tasks of this process, and by workers through their pipes.
#[derive(Debug, Default)]
pub struct History {
    events: Lock<Vec<Event>>,
    grown: Notify,
}

impl History {
    /// Adds `event`. Events of one client come in order; those of different ones may not.
    pub fn record(&self, event: Event) {
        self.events.lock().push(event);
        self.grown.notify_waiters();
    }

    /// All events so far.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.events.lock().clone()
    }

    /// Waits until at least `count` events satisfy `wanted`; without a bound of its own.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is taken out of the history.
    pub async fn until(&self, count: usize, wanted: impl Fn(&Event) -> bool) {
        loop {
            let grown = self.grown.notified();
            if self
                .events
                .lock()
                .iter()
                .filter(|event| wanted(event))
                .count()
                >= count
            {
                return;
            }
            grown.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_of_json() {
        let kind = EventKind::Granted {
            op: 3,
            token: 12,
            until: u64::MAX,
        };
        let event = Event::new(5, 1, kind);
        let line = serde_json::to_string(&event).expect("json");
        let expected = r#"{"at":5,"client":1,"event":"granted","op":3,"token":12,"until":18446744073709551615}"#;
        assert_eq!(line, expected);
        assert_eq!(serde_json::from_str::<Event>(&line).expect("event"), event);
        let killed = Event::new(6, 1, EventKind::Killed);
        let line = serde_json::to_string(&killed).expect("json");
        assert_eq!(serde_json::from_str::<Event>(&line).expect("event"), killed);
    }
}
