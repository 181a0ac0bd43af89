//! What is printed.

use std::{fmt, time::Duration};

use serde::Serialize;

use crate::Summary;

/// The measurements of one store.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The store, its password masked.
    pub url: String,
    /// The backend's name.
    pub backend: &'static str,
    /// One row for each workload.
    pub rows: Vec<Row>,
    /// What could not be measured, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One workload.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// `cycle` or `hand-over`.
    pub workload: &'static str,
    /// How many tasks or processes ran at a time.
    pub at_a_time: usize,
    /// What came out.
    #[serde(flatten)]
    pub summary: Summary,
}

impl Report {
    pub(crate) fn new(
        url: String,
        backend: &'static str,
        rows: Vec<Row>,
        note: Option<String>,
    ) -> Self {
        Self {
            url,
            backend,
            rows,
            note,
        }
    }
}

impl Row {
    pub(crate) fn new(workload: &'static str, at_a_time: usize, summary: Summary) -> Self {
        Self {
            workload,
            at_a_time,
            summary,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.url)?;
        writeln!(
            f,
            "  workload   at a time      median         p99      per second"
        )?;
        for Row {
            workload,
            at_a_time,
            summary,
        } in &self.rows
        {
            let [median, p99] = [summary.median_ns, summary.p99_ns].map(time);
            let rate = summary.per_second;
            writeln!(
                f,
                "  {workload:<10} {at_a_time:>9} {median:>11} {p99:>11} {rate:>15.0}"
            )?;
        }
        self.note
            .as_ref()
            .map_or(Ok(()), |note| writeln!(f, "  {note}"))
    }
}

/// Three digits and a unit.
fn time(nanos: u64) -> String {
    let seconds = Duration::from_nanos(nanos).as_secs_f64();
    let (value, unit) = match nanos {
        0..1_000_000 => (seconds * 1e6, "µs"),
        1_000_000..1_000_000_000 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    let digits = if value < 10.0 {
        2
    } else {
        usize::from(value < 100.0)
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        let shown = [1_234, 56_780, 999_999, 4_321_000, 12_000_000_000].map(time);
        assert_eq!(
            shown,
            ["1.23 µs", "56.8 µs", "1000 µs", "4.32 ms", "12.0 s"]
        );
    }
}
