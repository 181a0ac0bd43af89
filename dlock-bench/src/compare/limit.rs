//! Changes beside a limit: `--fail-over`.

use super::change::{Change, Judgement};

/// Whether a change is for the worse by more than a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an answer, or none")]
pub enum Against {
    /// No.
    Within,
    /// Yes.
    Beyond,
    /// The noise, or half of the interval, is larger than the limit: it is not known.
    TooNoisy,
}

impl Change {
    /// Judges the change by a limit: `0.05` is 5 %.
    #[must_use]
    pub fn against(&self, limit: f64) -> Against {
        if self.judgement == Judgement::Worse && self.worse_by > limit {
            return Against::Beyond;
        }
        let half = (self.change.high - self.change.low) / 2.0;
        let is_known = self.judgement != Judgement::Same || self.noise.max(half) <= limit;
        // A number that is none is not known, too.
        if is_known && half.is_finite() {
            Against::Within
        } else {
            Against::TooNoisy
        }
    }
}

/// `5 %`, with a fraction only where there is one.
pub(super) fn percent(part: f64) -> String {
    let digits = format!("{:.2}", part * 100.0);
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_a_fraction_only_where_there_is_one() {
        let shown = [0.05, 0.07, 0.025, 1.0, 0.0].map(percent);
        assert_eq!(shown, ["5 %", "7 %", "2.5 %", "100 %", "0 %"]);
    }
}
