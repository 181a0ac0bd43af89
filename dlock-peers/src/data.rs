//! The figures of a run, as `cargo xtask peers` reads them.

use dlock_bench::data::{Awake, Machine};
use serde::Serialize;

use crate::catalogue::Client;

/// The clients of a store, beside each other.
#[derive(Debug, Serialize)]
pub(crate) struct StoreRun {
    pub(crate) store: String,
    pub(crate) server: String,
    pub(crate) begun_at: String,
    pub(crate) machine: Machine,
    /// Whether idle cores were kept from sleeping where one request at a time is measured.
    pub(crate) awake: Awake,
    pub(crate) rounds: u32,
    pub(crate) seconds: f64,
    /// Of contention, and of a herd.
    pub(crate) contention_seconds: f64,
    /// Of each way between clients and server.
    pub(crate) delay_ms: f64,
    /// The driver's, to the server and back.
    pub(crate) round_trip_ms: Option<Interval>,
    pub(crate) clients: Vec<ClientRun>,
}

/// The figures of a client; none of a workload that it does not have.
#[derive(Debug, Serialize)]
pub(crate) struct ClientRun {
    #[serde(flatten)]
    pub(crate) client: Client,
    pub(crate) version: Option<String>,
    /// Why it was not measured.
    pub(crate) missing: Option<String>,
    /// Further figures of the same client, which show the noise.
    pub(crate) again: bool,
    pub(crate) one: Option<Cycles>,
    pub(crate) many: Option<Cycles>,
    pub(crate) once_one: Option<Cycles>,
    pub(crate) once_many: Option<Cycles>,
    /// Of many tasks with a connection each.
    pub(crate) apart: Option<Cycles>,
    pub(crate) hand_over: Option<HandOver>,
    pub(crate) contended: Option<Contended>,
    pub(crate) herds: Vec<Herd>,
}

/// Acquires and releases of free locks.
#[derive(Debug, Serialize)]
pub(crate) struct Cycles {
    pub(crate) per_second: Interval,
    /// Processor time, in microseconds a cycle.
    pub(crate) client_us: Interval,
    pub(crate) server_us: Interval,
    /// The same, as ratios to the driver in the same round.
    pub(crate) of_raw: Option<Ratios>,
    /// The ratio of the rate to that of dlock's own requests by the driver.
    pub(crate) of_floor: Option<Interval>,
    /// Of names used once: the ratio to the driver, as a part of that of names that are used again.
    pub(crate) of_again: Option<Interval>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Ratios {
    pub(crate) per_second: Interval,
    /// None if the driver took less than a tick of the kernel.
    pub(crate) client_cpu: Option<Interval>,
    pub(crate) server_cpu: Option<Interval>,
}

/// From a release to the grant of a waiter, in milliseconds.
#[derive(Debug, Serialize)]
pub(crate) struct HandOver {
    pub(crate) count: usize,
    pub(crate) median_ms: f64,
    pub(crate) p90_ms: f64,
    /// The medians of the rounds, in round trips of the same round.
    pub(crate) round_trips: Option<Interval>,
}

/// Sixteen clients on one name.
#[derive(Debug, Serialize)]
pub(crate) struct Contended {
    pub(crate) per_second: Interval,
    /// Grants to another client than the holder before.
    pub(crate) moved_per_second: Interval,
    pub(crate) jain: Interval,
    pub(crate) shares: Shares,
    pub(crate) longest_wait_ms: f64,
    /// Processor time, in microseconds a grant.
    pub(crate) client_us: Interval,
    pub(crate) server_us: Interval,
}

/// Many clients on one name, which each holds for a while.
#[derive(Debug, Serialize)]
pub(crate) struct Herd {
    pub(crate) clients: usize,
    pub(crate) hold_ms: f64,
    /// The requests that the server had for a grant.
    pub(crate) tries: Interval,
    pub(crate) moved_per_second: Interval,
    pub(crate) jain: Interval,
    pub(crate) shares: Shares,
    pub(crate) longest_wait_ms: f64,
}

/// The shares of the clients in all rounds, as multiples of an equal one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Shares {
    pub(crate) least: f64,
    pub(crate) greatest: f64,
}

/// The median of the rounds, the least and the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Interval {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Where the median of all rounds is, with a confidence of 95 %; six rounds are the least for that.
    pub(crate) sure: Option<[f64; 2]>,
}
