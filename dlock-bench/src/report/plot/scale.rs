//! Axes: from values to places in a figure.

/// The values that an axis spans. Both are finite, and the first is smaller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range(f64, f64);

/// A mapping of values to places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    kind: Kind,
    values: Range,
    places: [f64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Linear,
    Log,
}

/// A grid line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) place: f64,
    /// Whether the value is written beside it.
    pub(super) is_labelled: bool,
}

/// A logarithmic axis spans at least this factor, so that noise is not drawn as a difference.
const FACTOR_MIN: f64 = 8.0;
/// Below this factor 2 and 5 are labelled, too.
const FEW_DECADES: f64 = 60.0;
/// How many steps a linear axis has at most.
const STEPS_MAX: f64 = 6.0;

impl Range {
    /// The range of all values that are finite and above zero; `None` if there are none.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let usable = values
            .into_iter()
            .filter(|value| value.is_finite() && *value > 0.0);
        usable.fold(None, |range, value| match range {
            None => Some(Self(value, value)),
            Some(Self(low, high)) => Some(Self(low.min(value), high.max(value))),
        })
    }

    /// The range with a margin on both sides, for a logarithmic axis.
    pub(super) fn spread(self, low: f64, high: f64) -> Self {
        let widened = Self(self.0 / low, self.1 * high);
        let missing = (FACTOR_MIN / (widened.1 / widened.0)).max(1.0).sqrt();
        Self(widened.0 / missing, widened.1 * missing)
    }
}

impl Scale {
    /// A logarithmic axis.
    pub(super) fn log(values: Range, places: [f64; 2]) -> Self {
        let kind = Kind::Log;
        Self {
            kind,
            values,
            places,
        }
    }

    /// An axis from zero to the first round number from `high` on.
    pub(super) fn from_zero(high: f64, places: [f64; 2]) -> Self {
        let usable = high.is_finite() && high > 0.0;
        let high = if usable { high } else { 1.0 };
        let step = step_of(high);
        let values = Range(0.0, (high / step).ceil() * step);
        let kind = Kind::Linear;
        Self {
            kind,
            values,
            places,
        }
    }

    /// Where a value is; what lies outside is at the nearer end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let Range(low, high) = self.values;
        let part = match self.kind {
            Kind::Linear => (value - low) / (high - low),
            Kind::Log => (value.max(low) / low).ln() / (high / low).ln(),
        };
        let part = if part.is_finite() { part } else { 1.0 };
        let [start, end] = self.places;
        start + part.clamp(0.0, 1.0) * (end - start)
    }

    pub(super) fn low(&self) -> f64 {
        self.values.0
    }

    pub(super) fn high(&self) -> f64 {
        self.values.1
    }

    /// The grid: round numbers, the more important ones labelled.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        let Range(low, high) = self.values;
        let (values, is_labelled): (Vec<f64>, fn(f64, f64) -> bool) = match self.kind {
            Kind::Linear => (multiples(step_of(high), high), |_, _| true),
            Kind::Log => (one_two_five(low, high), |value, factor| {
                factor < FEW_DECADES || is_power_of_ten(value)
            }),
        };
        let ticks = values.into_iter().map(|value| Tick {
            value,
            place: self.place(value),
            is_labelled: is_labelled(value, high / low),
        });
        ticks.collect()
    }
}

/// The distance of grid lines of a linear axis: 1, 2 or 5 times a power of ten.
fn step_of(high: f64) -> f64 {
    let power = 10_f64.powf((high / STEPS_MAX).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    let fits = |step: &f64| high / step <= STEPS_MAX * 1.001;
    steps.into_iter().find(fits).unwrap_or(high)
}

fn multiples(step: f64, high: f64) -> Vec<f64> {
    let numbers = 0_u32..=10;
    let values = numbers.map(|number| f64::from(number) * step);
    values.filter(|value| *value <= high * 1.001).collect()
}

fn one_two_five(low: f64, high: f64) -> Vec<f64> {
    let exponents = -12_i32..=15;
    let values =
        exponents.flat_map(|exponent| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(exponent)));
    let inside = |value: &f64| (low * 0.999..=high * 1.001).contains(value);
    values.filter(inside).collect()
}

fn is_power_of_ten(value: f64) -> bool {
    let exponent = value.log10();
    (exponent - exponent.round()).abs() < 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale) -> Vec<f64> {
        let ticks = scale.ticks().into_iter();
        let labelled = ticks.filter(|tick| tick.is_labelled);
        labelled.map(|tick| tick.value.round()).collect()
    }

    #[test]
    fn a_wide_logarithmic_axis_has_powers_of_ten() {
        let range = Range::of([20.0, 8_000.0]).expect("values");
        assert_eq!(labels(Scale::log(range, [0.0, 100.0])), [100.0, 1_000.0]);
    }

    #[test]
    fn values_that_hardly_differ_have_an_axis_with_labels() {
        let range = Range::of([99.0, 101.0]).expect("values").spread(1.0, 1.0);
        let scale = Scale::log(range, [0.0, 100.0]);
        assert_eq!(labels(scale), [50.0, 100.0, 200.0]);
        assert!((scale.place(100.0) - 50.0).abs() < 1.0);
    }

    #[test]
    fn a_linear_axis_begins_at_zero_and_ends_at_a_round_number() {
        let scale = Scale::from_zero(23.1, [0.0, 100.0]);
        assert_eq!(labels(scale), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]);
        assert_eq!(
            labels(Scale::from_zero(10.0, [0.0, 1.0])).last(),
            Some(&10.0)
        );
    }

    #[test]
    fn a_place_is_always_on_the_axis() {
        let range = Range::of([1.0, 100.0]).expect("values");
        for scale in [
            Scale::log(range, [10.0, 90.0]),
            Scale::from_zero(0.0, [10.0, 90.0]),
            Scale::from_zero(f64::NAN, [10.0, 90.0]),
        ] {
            for value in [0.0, -1.0, 1e300, f64::INFINITY, f64::NAN, f64::MIN_POSITIVE] {
                let place = scale.place(value);
                assert!((10.0..=90.0).contains(&place), "{value} is at {place}");
            }
        }
    }

    #[test]
    fn nothing_has_no_range() {
        assert_eq!(Range::of([0.0, f64::NAN, f64::INFINITY, -3.0]), None);
    }
}
