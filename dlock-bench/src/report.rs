//! The report that is printed.

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
    /// The rows, one for each workload.
    pub rows: Vec<Row>,
    /// One cycle of the floor, in words; `None` for a store without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<&'static str>,
    /// One cycle of the server's own lock, in words; `None` for a store without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_lock: Option<&'static str>,
    /// The measurements that were not possible, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One workload.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// `cycle` or `hand-over`.
    pub workload: &'static str,
    /// How many tasks or processes ran at a time.
    pub at_a_time: usize,
    /// The result of the workload.
    #[serde(flatten)]
    pub summary: Summary,
    /// The baseline of the comparison, if the store has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// The server's own lock, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_lock: Option<Baseline>,
}

/// A baseline that a workload is compared with.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Baseline {
    /// `floor`, the store's driver alone, `own lock` of the server, `round trip` to it, or a durable `write`.
    pub what: &'static str,
    /// The result of the baseline.
    #[serde(flatten)]
    pub summary: Summary,
    /// Beside a floor or an own lock: the workload's rate as a part of its, the median of all rounds.
    /// Beside a round trip or a write: how many of them the workload takes at the median.
    pub ratio: f64,
    /// Half of the rounds had a ratio between these two, where there were rounds. Where they are far apart,
    /// the machine was too busy, or slept too deeply between two requests, for a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quartiles: Option<[f64; 2]>,
}

impl Report {
    pub(crate) fn new(url: String, backend: &'static str) -> Self {
        Self {
            url,
            backend,
            rows: Vec::new(),
            floor: None,
            own_lock: None,
            notes: Vec::new(),
        }
    }
}

impl Baseline {
    pub(crate) const FLOOR: &str = "floor";
    pub(crate) const OWN_LOCK: &str = "own lock";
    pub(crate) const ROUND_TRIP: &str = "round trip";
    #[cfg(any(feature = "etcd", feature = "zk"))]
    pub(crate) const WRITE: &str = "write";

    /// The ratio as it is printed.
    fn ratio(&self) -> String {
        let range = self
            .quartiles
            .map(|[low, high]| format!(" ({low:.2} to {high:.2})"));
        format!("{:.2}{}", self.ratio, range.unwrap_or_default())
    }
}

impl Row {
    pub(crate) fn new(workload: &'static str, at_a_time: usize, summary: Summary) -> Self {
        Self {
            workload,
            at_a_time,
            summary,
            baseline: None,
            own_lock: None,
        }
    }

    /// Sets `what` beside the row.
    pub(crate) fn beside(
        self,
        what: &'static str,
        summary: Summary,
        ratio: f64,
        quartiles: Option<[f64; 2]>,
    ) -> Self {
        let beside = Some(Baseline {
            what,
            summary,
            ratio,
            quartiles,
        });
        if what == Baseline::OWN_LOCK {
            return Self {
                own_lock: beside,
                ..self
            };
        }
        Self {
            baseline: beside,
            ..self
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.url)?;
        writeln!(
            f,
            "  workload       at a time      median         p99    per second  server CPU  ratio"
        )?;
        for row in &self.rows {
            let beside = row.baseline.as_ref();
            let ratio = beside.map(Baseline::ratio).unwrap_or_default();
            line(f, row.workload, row.at_a_time, row.summary, &ratio)?;
            if let Some(Baseline { what, summary, .. }) = beside {
                // Pings are sent one by one.
                let is_floor = *what == Baseline::FLOOR;
                let at_a_time = if is_floor { row.at_a_time } else { 1 };
                line(f, &format!("  {what}"), at_a_time, *summary, "")?;
            }
            if let Some(own) = &row.own_lock {
                let what = format!("  {}", own.what);
                line(f, &what, row.at_a_time, own.summary, &own.ratio())?;
            }
        }
        if let Some(floor) = self.floor {
            writeln!(f, "  floor: {floor}")?;
        }
        if let Some(own_lock) = self.own_lock {
            writeln!(f, "  own lock, and dlock's rate beside it: {own_lock}")?;
        }
        self.notes
            .iter()
            .try_for_each(|note| writeln!(f, "  {note}"))
    }
}

fn line(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    at_a_time: usize,
    summary: Summary,
    ratio: &str,
) -> fmt::Result {
    let [median, p99] = [summary.median_ns, summary.p99_ns].map(time);
    let cpu = summary.server_cpu_ns.map(time).unwrap_or_default();
    let text = format!(
        "  {what:<14} {at_a_time:>9} {median:>11} {p99:>11} {rate:>13.0} {cpu:>11}  {ratio}",
        rate = summary.per_second
    );
    writeln!(f, "{}", text.trim_end())
}

/// A duration as three digits and a unit.
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

    fn summary(median_ns: u64, server_cpu_ns: Option<u64>) -> Summary {
        Summary {
            count: 20_000,
            per_second: 10_000.0,
            median_ns,
            p99_ns: 2 * median_ns,
            server_cpu_ns,
        }
    }

    #[test]
    fn a_baseline_is_a_line_below_its_workload() {
        let mut report = Report::new("redis://db-1".to_owned(), "redis");
        let cycle = Row::new("cycle", 64, summary(90_000, Some(20_000)));
        let own = summary(200_000, None);
        let cycle = cycle.beside("own lock", own, 2.2, Some([2.0, 2.4]));
        let hand_over = Row::new("hand-over", 2, summary(150_000, None));
        report.rows = vec![
            cycle.beside(
                "floor",
                summary(60_000, Some(9_000)),
                0.667,
                Some([0.6, 0.7]),
            ),
            hand_over.beside("round trip", summary(60_000, None), 2.5, None),
        ];
        report.floor = Some("the driver alone");
        report.own_lock = Some("what the server has");
        report.notes = vec!["what else".to_owned()];
        let expected = "\
redis://db-1
  workload       at a time      median         p99    per second  server CPU  ratio
  cycle                 64     90.0 µs      180 µs         10000     20.0 µs  0.67 (0.60 to 0.70)
    floor               64     60.0 µs      120 µs         10000     9.00 µs
    own lock            64      200 µs      400 µs         10000              2.20 (2.00 to 2.40)
  hand-over              2      150 µs      300 µs         10000              2.50
    round trip           1     60.0 µs      120 µs         10000
  floor: the driver alone
  own lock, and dlock's rate beside it: what the server has
  what else
";
        assert_eq!(report.to_string(), expected);
        let json = serde_json::to_value(&report).expect("json");
        assert_eq!(json["rows"][0]["baseline"]["what"], "floor");
        assert_eq!(json["rows"][0]["baseline"]["server_cpu_ns"], 9_000);
        assert_eq!(json["rows"][1]["baseline"]["ratio"], 2.5);
    }

    #[test]
    fn times_have_three_digits() {
        let shown = [1_234, 56_780, 999_999, 4_321_000, 12_000_000_000].map(time);
        assert_eq!(
            shown,
            ["1.23 µs", "56.8 µs", "1000 µs", "4.32 ms", "12.0 s"]
        );
    }
}
