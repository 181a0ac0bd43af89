//! The numbers on a page of metrics, in the text form of Prometheus.

use std::{collections::HashMap, time::Duration};

/// The metrics of one server.
#[derive(Clone, Debug, Default)]
pub(super) struct Metrics(HashMap<String, f64>);

impl Metrics {
    pub(super) fn parse(page: &str) -> Self {
        let lines = page.lines().filter(|line| !line.starts_with('#'));
        let numbers = lines.filter_map(|line| {
            let (name, value) = line.rsplit_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        });
        Self(numbers.collect())
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// The value of a label of a metric that is there for its label alone; empty if it is not there.
    pub(super) fn label(&self, name: &str, label: &str) -> String {
        let prefix = format!("{name}{{{label}=\"");
        let mut labels = self.0.keys().filter_map(|key| key.strip_prefix(&prefix));
        labels
            .next()
            .unwrap_or_default()
            .trim_end_matches("\"}")
            .to_owned()
    }

    /// A percentile of a histogram of seconds, if it has `count_min` values.
    pub(super) fn percentile(&self, name: &str, part: f64, count_min: f64) -> Option<Duration> {
        let count = self.number(&format!("{name}_count"))?;
        if count < count_min {
            return None;
        }
        let prefix = format!("{name}_bucket{{le=\"");
        let bucket = |(key, count): (&String, &f64)| {
            let bound = key.strip_prefix(&prefix)?.strip_suffix("\"}")?;
            Some((bound.parse::<f64>().ok()?, *count))
        };
        let mut buckets: Vec<(f64, f64)> = self.0.iter().filter_map(bucket).collect();
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut lower, mut below) = (0.0, 0.0);
        for (bound, count_to) in buckets {
            if count_to >= count * part {
                // As Prometheus does: values are spread evenly over their bucket.
                let within = (count * part - below) / (count_to - below);
                let seconds = if bound.is_finite() {
                    lower + (bound - lower) * within
                } else {
                    lower
                };
                return Duration::try_from_secs_f64(seconds).ok();
            }
            (lower, below) = (bound, count_to);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_within_its_bucket() {
        let metrics = Metrics::parse(
            "# HELP t\nt_bucket{le=\"0.001\"} 90\nt_bucket{le=\"0.002\"} 100\n\
             t_bucket{le=\"+Inf\"} 200\nt_sum 1.5\nt_count 200\ngauge 2.147483648e+09\n\
             v{version=\"3.5.30\"} 1\n",
        );
        assert_eq!(metrics.label("v", "version"), "3.5.30");
        assert_eq!(metrics.label("t", "version"), "");
        let ms = |part| {
            metrics
                .percentile("t", part, 1.0)
                .map(|value| value.as_secs_f64() * 1e3)
        };
        assert_eq!(ms(0.45), Some(1.0));
        assert_eq!(ms(0.475), Some(1.5));
        // Beyond the last bound only that is known.
        assert_eq!(ms(0.99), Some(2.0));
        assert_eq!(metrics.percentile("t", 0.5, 201.0), None);
        assert_eq!(metrics.percentile("other", 0.5, 1.0), None);
        assert_eq!(metrics.number("gauge"), Some(2_147_483_648.0));
    }
}
