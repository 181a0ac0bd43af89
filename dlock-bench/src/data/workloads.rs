//! The measurements of the workloads that are no cycles.

use serde::{Deserialize, Serialize};

use super::{Interval, Latency};

/// From the release in one process to the grant in another one that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HandOver {
    /// How long each took.
    pub latency: Latency,
    /// The median over the rounds of the rounds' own medians, in nanoseconds.
    pub median_ns: Interval,
    /// The median as a number of exchanges with the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchanges: Option<Interval>,
}

/// A process that connects, acquires, releases and closes: what `dlock run` in cron pays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OneShot {
    /// From the start of the process to its end.
    pub latency: Latency,
    /// The median over the rounds, in nanoseconds.
    pub median_ns: Interval,
}

/// Cycles that arrive by a clock, at half of the store's own peak; each counts from when it was due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Steady {
    /// How many tasks served the arrivals.
    pub tasks: u32,
    /// The rate of arrivals, a second.
    pub arrivals_per_second: f64,
    /// From when a cycle was due to its end.
    pub latency: Latency,
    /// How many were due and had not ended when the measurement did. They count as that long at least.
    pub unserved: u64,
}

/// Several processes that all want one lock all the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Contention {
    /// How long it was measured.
    pub took_ms: u64,
    /// The grants of each process.
    pub grants: Vec<u64>,
    /// Jain's index of the grants: 1 if all have as many, 1/n if one has all.
    pub jain: f64,
    /// The longest wait of any process.
    pub longest_wait_ns: u64,
    /// Grants a second, all processes together.
    pub per_second: f64,
}

/// From the end of a holder to the grant of the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Takeover {
    /// The ttl of the locks.
    pub ttl_ms: u64,
    /// After the holder's process was killed: one time for each lock.
    pub killed_ns: Vec<u64>,
    /// After the holder was cut off from the store; `None` where that cannot be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_off_ns: Option<Vec<u64>>,
    /// How many locks had no next holder within the store's bound.
    pub missed: u32,
}

/// The price of locks that are held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Held {
    /// How many are held at once, by one locker.
    pub locks: u32,
    /// How long it took to acquire all of them.
    pub acquired_in_ms: u64,
    /// How long they were held for this measurement.
    pub held_ms: u64,
    /// How many were lost in that time.
    pub lost: u32,
    /// The memory of the server for each lock, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_bytes_each: Option<f64>,
    /// Requests to the server a second, for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_requests_per_second: Option<f64>,
    /// The server's processor time a second, as a part of one core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<f64>,
    /// The smallest part of the ttl that was left of any lock: a small one means late renewals.
    pub ttl_left_min: f64,
}
