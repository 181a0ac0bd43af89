//! Durations and intervals.

use serde::{Deserialize, Serialize};

/// A value with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::exhaustive_structs,
    reason = "an interval has two ends and a middle"
)]
pub struct Interval {
    /// The estimate: the median over the rounds, or a quotient of sums over the rounds.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Half of the width, as a part of the value: `0.03` is ± 3 %. Infinite for a value of zero.
    #[must_use]
    pub fn half_width(self) -> f64 {
        if self.value == 0.0 {
            return f64::INFINITY;
        }
        ((self.high - self.low) / 2.0 / self.value).abs()
    }

    /// Whether a ratio is larger than what the same thing twice differs by, with all of its interval.
    pub(crate) fn is_beyond(self, noise: f64) -> bool {
        self.low > 1.0 + noise.max(0.0)
    }
}

/// The distribution of durations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Latency {
    /// How many durations there are.
    pub count: u64,
    /// Half of them are no longer.
    pub p50_ns: u64,
    /// 90 % of them are no longer.
    pub p90_ns: u64,
    /// 99 % of them are no longer.
    pub p99_ns: u64,
    /// 99.9 % of them are no longer.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The durations in buckets, each about 10 % wider than the one before; empty buckets are left out.
    pub histogram: Vec<Bucket>,
}

/// A bucket of a histogram; in JSON a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
#[expect(clippy::exhaustive_structs, reason = "in JSON it is a pair")]
pub struct Bucket {
    /// No duration of the bucket is longer.
    pub at_most_ns: u64,
    /// How many durations there are in it.
    pub count: u64,
}

impl From<(u64, u64)> for Bucket {
    fn from((at_most_ns, count): (u64, u64)) -> Self {
        Self { at_most_ns, count }
    }
}

impl From<Bucket> for (u64, u64) {
    fn from(bucket: Bucket) -> Self {
        (bucket.at_most_ns, bucket.count)
    }
}
