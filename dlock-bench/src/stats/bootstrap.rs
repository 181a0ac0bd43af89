//! 95 % intervals by the moving-block bootstrap.
//!
//! The rounds of a run are no independent draws: a disturbance of the machine lasts for several. So blocks of
//! consecutive rounds are drawn again, as long as the cube root of their number (Künsch 1989).

use rand::{RngExt as _, SeedableRng as _, rngs::Xoshiro256PlusPlus};

use crate::data::Interval;

/// How often the rounds are drawn again.
pub(crate) const RESAMPLES: u32 = 2_000;

/// The parts of the resamples that are beyond each end of the interval.
const TAIL: f64 = 0.025;

/// Draws rounds again, by a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bootstrap {
    pub(crate) seed: u64,
}

impl Bootstrap {
    /// The interval of a `statistic` of the rounds that it is given by number, some of them repeatedly. `None`
    /// without rounds, or when it is undefined for all of them.
    pub(crate) fn interval(
        self,
        rounds: usize,
        statistic: impl Fn(&[usize]) -> Option<f64>,
    ) -> Option<Interval> {
        let all: Vec<usize> = (0..rounds).collect();
        let value = statistic(&all)?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let block = block_length(rounds);
        let mut drawn = Vec::with_capacity(rounds + block);
        let mut found = Vec::new();
        for _ in 0..RESAMPLES {
            drawn.clear();
            while drawn.len() < rounds {
                let begin = random.random_range(0..=rounds - block);
                drawn.extend(begin..begin + block);
            }
            drawn.truncate(rounds);
            found.extend(statistic(&drawn));
        }
        found.sort_by(f64::total_cmp);
        Some(Interval {
            value,
            low: quantile(&found, TAIL)?,
            high: quantile(&found, 1.0 - TAIL)?,
        })
    }

    /// The interval of the median of `values`, one of each round.
    pub(crate) fn median(self, values: &[f64]) -> Option<Interval> {
        self.interval(values.len(), |rounds| {
            let mut drawn: Vec<f64> = rounds.iter().map(|&round| values[round]).collect();
            median(&mut drawn)
        })
    }
}

/// The cube root of the number of rounds.
fn block_length(rounds: usize) -> usize {
    let mut length = 1;
    while (length + 1_usize).pow(3) <= rounds {
        length += 1;
    }
    length
}

/// The median; `None` of nothing.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let is_even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if !is_even {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some(f64::midpoint(lower, upper))
}

/// The median of times in nanoseconds; `None` of nothing.
pub(crate) fn median_ns(nanos: &[u64]) -> Option<u64> {
    let mut sorted = nanos.to_vec();
    sorted.sort_unstable();
    let lower = sorted.get(sorted.len().saturating_sub(1) / 2)?;
    Some(lower.midpoint(*sorted.get(sorted.len() / 2)?))
}

/// The value at a part of a sorted list.
fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index of a list, rounded"
    )]
    let at = (last as f64 * part).round() as usize;
    sorted.get(at).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: Bootstrap = Bootstrap { seed: 7 };

    /// The interval of a quotient of sums over the rounds, as processor times have it.
    fn quotient(rows: &[(f64, f64)]) -> Option<Interval> {
        SEED.interval(rows.len(), |rounds| {
            let over: f64 = rounds.iter().map(|&round| rows[round].0).sum();
            let under: f64 = rounds.iter().map(|&round| rows[round].1).sum();
            (under > 0.0).then(|| over / under)
        })
    }

    /// Draws that are normal enough: sums of twelve.
    fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    }

    #[test]
    fn medians_of_known_sets() {
        let close = |values: &mut [f64], expected: f64| {
            let found = median(values).expect("a median");
            assert!((found - expected).abs() < 1e-12, "{found}");
        };
        close(&mut [3.0, 1.0, 2.0], 2.0);
        close(&mut [4.0, 1.0, 3.0, 2.0], 2.5);
        close(&mut [7.0], 7.0);
        assert_eq!(median(&mut []), None);
    }

    #[test]
    fn blocks_grow_with_the_cube_root() {
        let lengths = [1, 7, 8, 26, 27, 63, 64, 1_000].map(block_length);
        assert_eq!(lengths, [1, 1, 2, 2, 3, 3, 4, 10]);
    }

    #[test]
    fn what_does_not_vary_has_no_width() {
        let interval = SEED.median(&[2.0; 40]).expect("an interval");
        assert!(interval.half_width() < 1e-12, "{interval:?}");
        let interval = quotient(&[(6.0, 3.0); 10]).expect("an interval");
        assert!((interval.value - 2.0).abs() < 1e-12 && interval.half_width() < 1e-12);
        assert!(SEED.median(&[]).is_none() && quotient(&[(1.0, 0.0)]).is_none());
    }

    #[test]
    fn the_same_seed_has_the_same_interval() {
        let values: Vec<f64> = (0..50).map(|i| f64::from(i * 37 % 50)).collect();
        assert_eq!(SEED.median(&values), SEED.median(&values));
        let other = Bootstrap { seed: 8 }.median(&values);
        let (one, other) = (SEED.median(&values).expect("some"), other.expect("some"));
        assert!((one.value - other.value).abs() < 1e-12, "{one:?} {other:?}");
    }

    /// Runs of simulated rounds: how many of 100 intervals contain the truth. `memory` is how much of each round's
    /// deviation the next one keeps.
    fn coverage(memory: f64, interval: impl Fn(&[f64]) -> Interval) -> u32 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut covered = 0;
        for _ in 0..200 {
            let mut deviation = 0.0;
            let mut values = Vec::new();
            for _ in 0..48 {
                deviation = memory * deviation + normal(&mut random);
                values.push(1.0 + 0.05 * deviation);
            }
            let found = interval(&values);
            covered += u32::from(found.low <= 1.0 && 1.0 <= found.high);
        }
        covered / 2
    }

    #[test]
    fn independent_rounds_are_covered() {
        let of_median = coverage(0.0, |values| SEED.median(values).expect("an interval"));
        assert!((88..=99).contains(&of_median), "{of_median} %");
        let of_quotient = coverage(0.0, |values| {
            let rows: Vec<_> = values.iter().map(|&value| (value, 1.0)).collect();
            quotient(&rows).expect("an interval")
        });
        assert!((88..=99).contains(&of_quotient), "{of_quotient} %");
    }

    #[test]
    fn rounds_that_follow_each_other_are_covered_too() {
        let covered = coverage(0.4, |values| SEED.median(values).expect("an interval"));
        assert!((80..=99).contains(&covered), "{covered} %");
    }
}
