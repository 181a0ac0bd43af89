//! The processor time that this machine has, and does not get.

use std::fs;

use super::checks;
use crate::probe::{finding::Severity, report::Report};

/// The part of the time that a hypervisor may withhold.
const STEAL_MAX: f64 = 0.02;

/// Fewer ticks are too few to be a part of anything.
const STEAL_TICKS_MIN: u64 = 5;

/// The part of a minute in which tasks may wait for a processor.
const PRESSURE_MAX: f64 = 50.0;

/// Ticks of all processors since the start of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticks {
    all: u64,
    stolen: u64,
}

impl Ticks {
    /// The ticks until now; `None` where the system does not count them.
    pub(super) fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// The first line is of all processors: user, nice, system, idle, iowait, irq, softirq, steal, and two that are
    /// part of the first two.
    fn parse(text: &str) -> Option<Self> {
        let words = text
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace();
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).take(8).collect();
        Some(Self {
            all: ticks.iter().sum(),
            stolen: *ticks.get(7)?,
        })
    }

    /// Judges what was stolen since `earlier`.
    pub(super) fn judge_since(self, earlier: Self, report: &mut Report) {
        let stolen = self.stolen.saturating_sub(earlier.stolen);
        let part = part(stolen, self.all.saturating_sub(earlier.all));
        let finding = (stolen >= STEAL_TICKS_MIN && part > STEAL_MAX).then(|| {
            let found = format!("{:.1} %", part * 100.0);
            checks::STEAL.finds(Severity::Warning, found, "at most 2 %")
        });
        report.note(&checks::STEAL, finding);
    }
}

/// Judges how long tasks have waited for a processor in the last minute.
pub(super) fn judge_pressure(report: &mut Report) {
    let text = fs::read_to_string("/proc/pressure/cpu").unwrap_or_default();
    let Some(some) = average(&text) else {
        return report.no_answer(
            &checks::PRESSURE,
            "the system does not count it",
            "Linux with psi=1",
        );
    };
    let finding = (some > PRESSURE_MAX).then(|| {
        let found = format!("{some:.0} %");
        checks::PRESSURE.finds(Severity::Warning, found, "at most 50 %")
    });
    report.note(&checks::PRESSURE, finding);
}

/// The average over a minute, of the line `some avg10=0.00 avg60=0.00 …`.
fn average(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let mut words = some.split(' ');
    words
        .find_map(|word| word.strip_prefix("avg60="))?
        .parse()
        .ok()
}

#[expect(clippy::cast_precision_loss, reason = "a part needs no more")]
fn part(of: u64, all: u64) -> f64 {
    if all == 0 {
        0.0
    } else {
        of as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_ticks_are_a_part_of_all() {
        let before = Ticks::parse("cpu  100 0 100 700 0 0 0 10 0 0\ncpu0 1\n").expect("ticks");
        assert_eq!(
            before,
            Ticks {
                all: 910,
                stolen: 10
            }
        );
        let mut report = Report::default();
        Ticks {
            all: 1_110,
            stolen: 15,
        }
        .judge_since(before, &mut report);
        assert_eq!(report.findings[0].id, "client.steal");
        assert_eq!(report.findings[0].found, "2.5 %");
        let mut report = Report::default();
        Ticks {
            all: 1_110,
            stolen: 13,
        }
        .judge_since(before, &mut report);
        assert!(report.findings.is_empty());
        assert_eq!(report.checked, ["client.steal"]);
    }

    #[test]
    fn pressure_is_the_average_of_a_minute() {
        let text = "some avg10=1.00 avg60=51.20 avg300=0.00 total=1\nfull avg10=0.00 avg60=9.00\n";
        assert_eq!(average(text), Some(51.2));
        assert_eq!(average(""), None);
    }
}
