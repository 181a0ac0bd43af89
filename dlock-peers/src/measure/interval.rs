//! The median of some rounds, and how sure it is.

use crate::data::Interval;

/// The chance that the median of all rounds is below, or above, what is called sure.
const TAIL: f64 = 0.025;

impl Interval {
    /// The median and the extremes; none of nothing, and of a ratio to less than a tick of the kernel.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let all_finite = values.iter().all(|value| value.is_finite());
        all_finite.then_some(())?;
        Some(Self {
            value: median(&values)?,
            low: *values.first()?,
            high: *values.last()?,
            sure: sure(&values),
        })
    }
}

fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(match sorted.len() % 2 {
        0 => f64::midpoint(sorted[middle - 1], upper),
        _ => upper,
    })
}

/// By order statistics: each value is below the median with a chance of one half in any distribution.
fn sure(sorted: &[f64]) -> Option<[f64; 2]> {
    let count = u32::try_from(sorted.len()).ok()?;
    // The chance that exactly, and that at most `below` values are below the median.
    let mut exactly = 0.5_f64.powf(f64::from(count));
    let mut at_most = 0.0;
    let mut found = None;
    for (below, (low, high)) in (0..count).zip(sorted.iter().zip(sorted.iter().rev())) {
        at_most += exactly;
        if at_most > TAIL {
            break;
        }
        found = Some([*low, *high]);
        exactly *= f64::from(count - below) / f64::from(below + 1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_count_is_between_two() {
        let of = |values: &[f64]| Interval::of(values.iter().copied()).unwrap().value;
        assert_eq!(of(&[9.0, 1.0, 3.0]), 3.0);
        assert_eq!(of(&[9.0, 1.0, 3.0, 4.0]), 3.5);
    }

    #[test]
    fn an_interval_is_that_of_the_tables_of_the_binomial_distribution() {
        let sure = |count: u32| Interval::of((1..=count).map(f64::from)).unwrap().sure;
        assert_eq!(sure(5), None);
        assert_eq!(sure(6), Some([1.0, 6.0]));
        assert_eq!(sure(9), Some([2.0, 8.0]));
        assert_eq!(sure(20), Some([6.0, 15.0]));
        assert_eq!(sure(100), Some([40.0, 61.0]));
    }
}
