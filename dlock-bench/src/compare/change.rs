//! A number of two runs.

use serde::Serialize;

use crate::data::Interval;

/// A number of two runs, and how it changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The label of the store.
    pub store: String,
    /// The number, such as `64 tasks, rate of the driver's`.
    pub what: String,
    /// The number of the old run.
    pub old: Interval,
    /// The number of the new run.
    pub new: Interval,
    /// The new number as a part of the old one, with the interval that follows from both.
    pub change: Interval,
    /// Whether the change is larger than the noise of both runs.
    pub judgement: Judgement,
    /// By how much the same thing differed that was measured twice, in the noisier run.
    pub noise: f64,
    /// By how much the new run is worse: `0.05` is 5 %. Negative if it is better.
    pub worse_by: f64,
}

/// Whether a change is larger than noise, and in which direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Judgement {
    /// Better than the old run.
    Better,
    /// No difference that is larger than the noise.
    Same,
    /// Worse than the old run.
    Worse,
}

/// Which numbers are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Good {
    High,
    Low,
}

impl Change {
    /// Judges a number. `noise` is by how much the same thing differs that is measured twice.
    pub(super) fn judge(
        store: &str,
        what: String,
        (old, new): (Interval, Interval),
        good: Good,
        noise: f64,
    ) -> Self {
        let change = quotient(new, old);
        let is_higher = change.low > 1.0 + noise;
        let is_lower = change.high < 1.0 - noise;
        let judgement = match (is_higher, is_lower, good) {
            (true, _, Good::High) | (_, true, Good::Low) => Judgement::Better,
            (true, _, Good::Low) | (_, true, Good::High) => Judgement::Worse,
            (false, false, _) => Judgement::Same,
        };
        Self {
            store: store.to_owned(),
            what,
            old,
            new,
            change,
            judgement,
            noise,
            worse_by: match good {
                Good::High => 1.0 - change.value,
                Good::Low => change.value - 1.0,
            },
        }
    }
}

/// The quotient of two independent numbers. Their relative errors add as squares.
fn quotient(over: Interval, under: Interval) -> Interval {
    let value = over.value / under.value;
    let below = |of: Interval| (of.value / of.low.max(f64::MIN_POSITIVE)).ln();
    let above = |of: Interval| (of.high / of.value).ln();
    Interval {
        value,
        low: value * (-below(over).hypot(above(under))).exp(),
        high: value * above(over).hypot(below(under)).exp(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(value: f64, part: f64) -> Interval {
        Interval {
            value,
            low: value / (1.0 + part),
            high: value * (1.0 + part),
        }
    }

    fn judged(old: f64, new: f64, good: Good, noise: f64) -> Judgement {
        let numbers = (about(old, 0.03), about(new, 0.04));
        Change::judge("redis", "a ratio".to_owned(), numbers, good, noise).judgement
    }

    #[test]
    fn errors_add_as_squares() {
        let found = quotient(about(3.0, 0.03), about(2.0, 0.04));
        assert!((found.value - 1.5).abs() < 1e-9);
        let (low, high) = (found.value / found.low, found.high / found.value);
        assert!(
            (1.048..1.052).contains(&low) && (1.048..1.052).contains(&high),
            "{found:?}"
        );
    }

    #[test]
    fn a_change_within_the_noise_is_none() {
        assert_eq!(judged(1.0, 0.97, Good::High, 0.0), Judgement::Same);
        assert_eq!(judged(1.0, 0.90, Good::High, 0.0), Judgement::Worse);
        assert_eq!(judged(1.0, 0.90, Good::High, 0.06), Judgement::Same);
        assert_eq!(judged(1.0, 1.10, Good::High, 0.0), Judgement::Better);
    }

    #[test]
    fn more_processor_time_is_worse() {
        assert_eq!(judged(2.0, 2.4, Good::Low, 0.05), Judgement::Worse);
        assert_eq!(judged(2.0, 1.6, Good::Low, 0.05), Judgement::Better);
        let numbers = (about(2.0, 0.0), about(2.4, 0.0));
        let change = Change::judge("a", "b".to_owned(), numbers, Good::Low, 0.0);
        assert!((change.worse_by - 0.2).abs() < 1e-9);
    }
}
