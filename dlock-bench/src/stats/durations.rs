//! Durations, collected and summed up.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::data::{Bucket, Latency};

/// Durations of one side, to three digits; longer ones than an hour count as an hour.
pub(crate) struct Durations(Histogram<u64>);

impl Durations {
    const LONGEST_NS: u64 = 3_600_000_000_000;

    /// Shorter ones count as this.
    const SHORTEST_NS: u64 = 100;

    /// How much wider each bucket of the data is than the one before.
    const BUCKETS_GROW: f64 = 1.1;

    pub(crate) fn new() -> Self {
        #[expect(clippy::expect_used, reason = "these bounds are valid")]
        let histogram = Histogram::new_with_bounds(Self::SHORTEST_NS, Self::LONGEST_NS, 3)
            .expect("valid bounds");
        Self(histogram)
    }

    pub(crate) fn record(&mut self, duration: Duration) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.0.saturating_record(nanos.max(1));
    }

    /// The data; `None` without durations.
    pub(crate) fn latency(&self) -> Option<Latency> {
        if self.0.is_empty() {
            return None;
        }
        let at = |quantile| self.0.value_at_quantile(quantile);
        let buckets = self.0.iter_log(Self::SHORTEST_NS, Self::BUCKETS_GROW);
        let buckets = buckets.filter(|bucket| bucket.count_since_last_iteration() > 0);
        Some(Latency {
            count: self.0.len(),
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: self.0.max(),
            histogram: buckets
                .map(|bucket| Bucket {
                    at_most_ns: bucket.value_iterated_to(),
                    count: bucket.count_since_last_iteration(),
                })
                .collect(),
        })
    }
}

impl FromIterator<Duration> for Durations {
    fn from_iter<T: IntoIterator<Item = Duration>>(durations: T) -> Self {
        let mut all = Self::new();
        durations
            .into_iter()
            .for_each(|duration| all.record(duration));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_a_known_set() {
        let durations: Durations = (1..=1_000).map(Duration::from_micros).collect();
        let latency = durations.latency().expect("not empty");
        assert_eq!(latency.count, 1_000);
        let near = |value: u64, micros: u64| value.abs_diff(micros * 1_000) < micros * 2;
        assert!(near(latency.p50_ns, 500), "{latency:?}");
        assert!(near(latency.p90_ns, 900) && near(latency.p99_ns, 990));
        assert!(near(latency.p999_ns, 999) && near(latency.max_ns, 1_000));
        assert!(Durations::new().latency().is_none());
    }

    #[test]
    fn each_duration_is_in_one_bucket() {
        let durations: Durations = (0..40)
            .map(|power| Duration::from_nanos(1 << power))
            .collect();
        let latency = durations.latency().expect("not empty");
        let in_buckets: u64 = latency.histogram.iter().map(|bucket| bucket.count).sum();
        assert_eq!(in_buckets, 40);
        let bounds = latency.histogram.iter().map(|bucket| bucket.at_most_ns);
        assert!(bounds.is_sorted());
        assert!(latency.histogram.len() < 40, "short ones share a bucket");
    }
}
