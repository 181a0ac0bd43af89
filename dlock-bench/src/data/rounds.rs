//! The raw measurements: what each side did in each round.

use serde::{Deserialize, Serialize};

/// One side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SideKey {
    /// The store, counted from 0 in the run's list.
    pub store: u32,
    /// The workload.
    pub workload: Workload,
    /// How many tasks or processes ran at a time.
    pub tasks: u32,
    /// The program that was measured.
    pub side: Side,
}

/// A workload that is measured in rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Workload {
    /// Acquire and release of a lock without contention.
    Cycle,
    /// The same, each time on a name that was never used before.
    NewNames,
    /// From the release in one process to the grant in another one.
    HandOver,
    /// A process that connects, acquires, releases and closes.
    OneShot,
    /// One exchange with the server: a round trip, or a durable write.
    Exchange,
}

/// A workload that is measured in rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Side {
    /// dlock.
    Dlock,
    /// dlock once more, on other names: the measure of noise.
    Again,
    /// The store's driver alone, without any safety.
    Floor,
    /// The lock that the server offers by itself.
    OwnLock,
}

/// All slices of one round, in the order in which they ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Round {
    /// When the round began, since the begin of the run.
    pub begun_ms: u64,
    /// The slices.
    pub slices: Vec<Slice>,
}

/// A slice: one side of one store in one round. In JSON an array of the fields in their order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Fields", into = "Fields")]
#[expect(clippy::exhaustive_structs, reason = "in JSON it is an array")]
pub struct Slice {
    /// The side, counted from 0 in the run's list of sides.
    pub side: u32,
    /// How many cycles ended within the slice.
    pub count: u64,
    /// The time of these cycles: the slice; of one task without what was cut off at its ends.
    pub took_us: u64,
    /// The median of the cycles that ended within it; `None` if none did.
    pub median_ns: Option<u64>,
    /// The processor time of this process in the slice.
    pub client_cpu_us: u64,
    /// The processor time of the server in the slice.
    pub server_cpu_us: Option<u64>,
}

type Fields = (u32, u64, u64, Option<u64>, u64, Option<u64>);

impl From<Fields> for Slice {
    fn from((side, count, took_us, median_ns, client_cpu_us, server_cpu_us): Fields) -> Self {
        Self {
            side,
            count,
            took_us,
            median_ns,
            client_cpu_us,
            server_cpu_us,
        }
    }
}

impl From<Slice> for Fields {
    fn from(slice: Slice) -> Self {
        (
            slice.side,
            slice.count,
            slice.took_us,
            slice.median_ns,
            slice.client_cpu_us,
            slice.server_cpu_us,
        )
    }
}

impl Slice {
    /// Cycles a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        if self.took_us == 0 {
            return 0.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let rate = self.count as f64 * 1e6 / self.took_us as f64;
        rate
    }
}
