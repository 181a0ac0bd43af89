//! The measurements of one store.

use serde::{Deserialize, Serialize};

use super::{Contention, HandOver, Held, Interval, Latency, OneShot, Steady, Takeover};

/// A store of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Store {
    /// The name in tables, unique within the run: the backend's, with a number where there are several.
    pub label: String,
    /// The URL, its password masked.
    pub url: String,
    /// The backend's name, such as `redis`.
    pub backend: String,
    /// The server and its version, such as `Redis 7.0.15`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Why the store was not measured, or not to the end. The rest then has what was measured before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// One cycle of the floor, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<String>,
    /// One cycle of the floor on a name that is used once, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor_of_new_names: Option<String>,
    /// One cycle of the server's own lock, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_lock: Option<String>,
    /// Workloads and numbers that could not be measured, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// One exchange with the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
    /// The cycles, by the number of tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cycles: Vec<Cycles>,
    /// Cycles on names that are used once, by the number of tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_names: Vec<Cycles>,
    /// How many names were used once, and what they left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_once: Option<UsedOnce>,
    /// The hand-over between two processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hand_over: Option<HandOver>,
    /// The price of a process that takes one lock and ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_shot: Option<OneShot>,
    /// Cycles that arrive by a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<Steady>,
    /// Many processes that want one lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<Contention>,
    /// The time until the next grant after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takeover: Option<Takeover>,
    /// The price of locks that are held, by their number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Held>,
}

/// One exchange with the server, measured in turns with the cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Exchange {
    /// `round trip`, or `write` where each change of a lock is made durable.
    pub unit: String,
    /// How many of them one cycle takes, one after the other.
    pub for_each_cycle: f64,
    /// How long it takes.
    pub latency: Latency,
}

/// Names that were used once in the rounds, by dlock and by the driver alone. After each slice all that is left of its
/// names is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UsedOnce {
    /// How many names.
    pub names: u64,
    /// How many rows, files or directories were removed, which the store keeps for the next holder.
    pub removed: u64,
    /// How many locks were found: none may be left when all guards have ended (K12).
    pub locks: u64,
}

/// Acquire and release without contention, by a number of tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Cycles {
    /// The tasks that run side by side, each on a name of its own.
    pub tasks: u32,
    /// dlock's own cycles.
    pub dlock: Throughput,
    /// The store's driver alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Throughput>,
    /// The server's own lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_lock: Option<Throughput>,
    /// dlock's rate as a part of the floor's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_floor: Option<Interval>,
    /// dlock's rate as a part of the own lock's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_own_lock: Option<Interval>,
    /// The rate of dlock measured again, as a part of the first: 1 without noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_twice: Option<Interval>,
    /// The server's processor time for a cycle, as a multiple of the floor's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_of_floor: Option<Interval>,
    /// This process's processor time for a cycle, as a multiple of the floor's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_cpu_of_floor: Option<Interval>,
    /// The limit that theory sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

/// The result of one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Throughput {
    /// Cycles a second, all tasks together: the median over the rounds.
    pub per_second: Interval,
    /// How long a cycle took. With many tasks this is the time in the queue of this very workload.
    pub latency: Latency,
    /// This process's processor time for a cycle.
    pub client_cpu_ns: f64,
    /// The server's processor time for a cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_ns: Option<f64>,
    /// How long the server waited for its disk for a cycle, if it reports that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_flush_ns: Option<f64>,
}

/// The rate that no lock of this cost can exceed, at this number of tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Limit {
    /// The rate that the exchanges allow: tasks divided by the time of the exchanges of a cycle.
    pub slope_per_second: f64,
    /// The rate that the scarcest resource allows, with any number of tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling_per_second: Option<f64>,
    /// The scarcest resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
    /// dlock's rate as a part of the smaller one of the two.
    pub reached: f64,
}

/// The resource that is used up first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ceiling {
    /// The busiest thread of the server.
    ServerThread,
    /// The cores that clients and server share.
    Cores,
    /// The disk: one flush after another, each for as many cycles as were waiting.
    Disk,
}

impl Limit {
    /// The smaller one of the two limits, in cycles a second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        let ceiling = self.ceiling_per_second.unwrap_or(f64::INFINITY);
        ceiling.min(self.slope_per_second)
    }
}
