//! Durations, collected and summed up.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Durations of one workload, to three digits; longer ones than an hour count as an hour.
pub(crate) struct Durations(Histogram<u64>);

impl Durations {
    const LONGEST_NS: u64 = 3_600_000_000_000;

    pub(crate) fn new() -> Self {
        #[expect(clippy::expect_used, reason = "these bounds are valid")]
        let histogram = Histogram::new_with_bounds(1, Self::LONGEST_NS, 3).expect("valid bounds");
        Self(histogram)
    }

    pub(crate) fn record(&mut self, duration: Duration) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.0.saturating_record(nanos.max(1));
    }

    /// The summary of the cycles within `took`; `None` without cycles.
    pub(crate) fn sum_up(&self, took: Duration) -> Option<Summary> {
        let count = self.0.len();
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let per_second = count as f64 / took.as_secs_f64();
        (count > 0).then(|| Summary {
            count,
            per_second,
            median_ns: self.0.value_at_quantile(0.5),
            p99_ns: self.0.value_at_quantile(0.99),
            server_cpu_ns: None,
        })
    }
}

/// The result of one workload.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// How often it ran.
    pub count: u64,
    /// How often a second, all tasks together.
    pub per_second: f64,
    /// Half of them took no longer, in nanoseconds.
    pub median_ns: u64,
    /// 99 of 100 took no longer, in nanoseconds.
    pub p99_ns: u64,
    /// The server's processor time for one cycle, in nanoseconds, including everything else that the server did in
    /// that time. `None` when the server does not report it, or was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpu_ns: Option<u64>,
}

impl Summary {
    /// The median, in seconds.
    pub(crate) fn median(&self) -> f64 {
        Duration::from_nanos(self.median_ns).as_secs_f64()
    }

    /// The server's processor spent `all` on all of them together.
    pub(crate) fn with_server_cpu(self, all: Option<Duration>) -> Self {
        let each = all.map(|all| all.as_nanos() / u128::from(self.count.max(1)));
        Self {
            server_cpu_ns: each.and_then(|nanos| u64::try_from(nanos).ok()),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_p99_of_a_known_set() {
        let mut durations = Durations::new();
        for micros in 1..=100 {
            durations.record(Duration::from_micros(micros));
        }
        let summary = durations.sum_up(Duration::from_secs(1)).expect("not empty");
        assert_eq!(summary.count, 100);
        assert!((summary.per_second - 100.0).abs() < f64::EPSILON);
        let near = |value: u64, micros: u64| value.abs_diff(micros * 1_000) < micros * 10;
        assert!(
            near(summary.median_ns, 50) && near(summary.p99_ns, 99),
            "{summary:?}"
        );
        let summary = summary.with_server_cpu(Some(Duration::from_millis(1)));
        assert_eq!(summary.server_cpu_ns, Some(10_000));
        assert!(Durations::new().sum_up(Duration::from_secs(1)).is_none());
    }
}
