//! Numbers as people read them.

use std::time::Duration;

use crate::data::Interval;

/// A duration as three digits and a unit.
pub(super) fn time(nanos: u64) -> String {
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

/// A rate as three digits, in groups of three: `67 400`.
pub(super) fn rate(value: f64) -> String {
    if value < 10.0 {
        return format!("{value:.2}");
    }
    let mut unit = 1.0;
    while value / unit >= 1_000.0 {
        unit *= 10.0;
    }
    let digits = format!("{:.0}", (value / unit).round() * unit);
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// `0.60 ±.02`; without a number where the interval is as wide as that, and thus says nothing.
pub(crate) fn ratio(interval: Interval) -> String {
    if (interval.high - interval.low) / 2.0 >= interval.value {
        return "includes zero".to_owned();
    }
    let half = format!("{:.2}", (interval.high - interval.low) / 2.0);
    let half = half.strip_prefix('0').unwrap_or(&half);
    format!("{:.2} ±{half}", interval.value)
}

/// `6.4 ± 0.2`.
pub(super) fn times(interval: Interval) -> String {
    let half = (interval.high - interval.low) / 2.0;
    format!("{:.1} ± {half:.1}", interval.value)
}

/// `82 %`.
pub(super) fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        let shown = [1_234, 56_780, 999_999, 4_321_000, 12_000_000_000].map(time);
        let expected = ["1.23 µs", "56.8 µs", "1000 µs", "4.32 ms", "12.0 s"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn rates_have_three_digits() {
        let shown = [3.456, 67.4, 742.4, 67_412.0, 1_234_567.0].map(rate);
        assert_eq!(shown, ["3.46", "67", "742", "67 400", "1 230 000"]);
    }

    #[test]
    fn intervals_show_half_of_their_width() {
        let interval = Interval {
            value: 0.6,
            low: 0.58,
            high: 0.62,
        };
        assert_eq!(
            (ratio(interval), times(interval)),
            ("0.60 ±.02".to_owned(), "0.6 ± 0.0".to_owned())
        );
        assert_eq!(percent(0.816), "82 %");
    }

    #[test]
    fn an_interval_that_includes_zero_is_no_number() {
        let interval = Interval {
            value: 2.83,
            low: 0.1,
            high: 59.42,
        };
        assert_eq!(ratio(interval), "includes zero");
    }
}
