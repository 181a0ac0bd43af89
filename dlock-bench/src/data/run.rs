//! A whole run.

use dlock_verify::verdict::{Document, StoreVerdict};
use serde::{Deserialize, Serialize};

use super::{Interval, Machine, Noise, Round, Settings, SideKey, Store, Workload};

/// The format of the data: its name and its version.
pub const FORMAT: &str = "dlock-bench/1";

/// A run of `dlock bench`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Run {
    /// [`FORMAT`]; [`Run::parse`] refuses another one.
    pub format: String,
    /// The version of dlock.
    pub version: String,
    /// The seed of all random choices, as hexadecimal digits.
    pub seed: String,
    /// When the run began: RFC 3339, in UTC.
    pub begun_at: String,
    /// How long it took.
    pub took_ms: u64,
    /// Whether all intervals became as narrow as required.
    pub settled: bool,
    /// The client's machine.
    pub machine: Machine,
    /// The workloads, and how they were measured.
    pub settings: Settings,
    /// How much of a difference is noise.
    pub noise: Noise,
    /// The stores, in the order in which they were given.
    pub stores: Vec<Store>,
    /// The verdicts of `dlock verify` about the stores, if there are any. One belongs to the store with the same URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<Document>,
    /// The differences between stores that are larger than the noise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
    /// The sides of [`rounds`](Self::rounds).
    pub sides: Vec<SideKey>,
    /// The raw measurements.
    pub rounds: Vec<Round>,
}

impl Run {
    /// The verdict about a store of the run.
    #[must_use]
    pub fn verdict(&self, store: &Store) -> Option<&StoreVerdict> {
        let mut all = self.verdicts.as_ref()?.stores.iter();
        all.find(|verdict| verdict.url == store.url)
    }
}

/// How many measurements a store has at least that is compared with another one.
pub(crate) const COUNT_MIN: u64 = 30;

impl Run {
    /// The differences of a workload that are larger than the noise of the whole run.
    pub(crate) fn differences(
        &self,
        workload: Workload,
        tasks: u32,
    ) -> impl Iterator<Item = &Comparison> {
        // Earlier versions wrote those that are larger than the noise of two stores.
        let is_one = move |one: &&Comparison| {
            let is_it = one.workload == workload && one.tasks == tasks;
            is_it && one.times.is_beyond(self.noise.same_twice)
        };
        self.comparisons.iter().filter(is_one)
    }
}

/// A difference between two stores that is larger than the noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The workload.
    pub workload: Workload,
    /// How many tasks or processes ran at a time.
    pub tasks: u32,
    /// The label of the faster store.
    pub faster: String,
    /// The label of the slower store.
    pub slower: String,
    /// How many times as fast the faster one is: larger than 1.
    pub times: Interval,
}
