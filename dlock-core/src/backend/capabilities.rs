//! The properties of a backend.

use std::time::Duration;

/// The properties of a backend: constant, known without I/O.
///
/// The locker refuses by them, without I/O, what the store cannot do. The conformance suite chooses its
/// cases and bounds by them.
///
/// Exhaustive: each backend must state a new property, so one is a breaking change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_structs,
    reason = "implementors must state every property"
)]
pub struct Capabilities {
    /// The backend's name in errors and metrics: `"redis"`.
    pub backend: &'static str,
    /// The [modes](crate::Mode) that the store has.
    pub modes: Modes,
    /// Whether tokens grow.
    pub fencing: Fencing,
    /// The order in which waiting processes are served.
    pub order: Order,
    /// How a waiter learns that it is its turn.
    pub waiting: Waiting,
    /// The end of a hold whose holder is gone.
    pub expiry: Expiry,
    /// The shortest time to live that an acquire may request: 1 s at most (K11). If the store cannot end a lock so
    /// soon, it frees the lock later, and `takeover_max` includes that.
    pub ttl_min: Duration,
    /// The longest time to live that an acquire may request: 1 day at least (K11).
    pub ttl_max: Duration,
    /// How many locks one locker can hold at once; `None` where only memory bounds it.
    pub held_max: Option<u32>,
    /// How long after a holder's death its lock is granted to a waiter at the latest, beyond what is
    /// left of the ttl (K6).
    pub takeover_max: Duration,
    /// How long the store grants nothing after it may have forgotten its locks (the URL key
    /// `restart_guard`); zero where it does not wait. No longer ttl is allowed, and the default
    /// wait is longer.
    pub restart_guard: Duration,
}

/// The modes of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Modes {
    /// One holder at a time.
    Exclusive,
    /// One exclusive holder, or any number of shared ones.
    ExclusiveAndShared,
}

/// Whether tokens can be used for fencing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fencing {
    /// Tokens of successive grants strictly grow (K5), within the backend's stated exceptions.
    Growing,
    /// Tokens differ but have no order.
    None,
}

/// The order in which waiters of different processes are granted.
///
/// A process has one place in the store's queue for each name; its own callers take turns behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// First come, first served.
    Fifo,
    /// The backend makes no promise.
    Unordered,
}

/// How a waiter learns that the lock may be free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Waiting {
    /// The store notifies the waiter.
    Notified,
    /// The store answers the waiter's request when its turn comes.
    Blocking,
    /// The waiter polls the store, so the suite omits the cases of a prompt hand-over (K6).
    Polled,
}

/// The way in which the hold of a holder that is gone ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Expiry {
    /// The store ends each hold after its ttl unless it is renewed.
    Lease,
    /// The store ends all holds of a session whose keep-alives it has missed for the session's time-out.
    Session,
    /// The operating system ends the hold with the process; it has no deadline and needs no renewal.
    Process,
}
