//! The text of errors for values that are out of range.

use std::{fmt::Display, ops::RangeInclusive, time::Duration};

/// `timeout 5ms is out of range (10ms to 1m)`.
pub(crate) fn out_of_range<T: Display>(
    what: &str,
    value: impl Display,
    allowed: &RangeInclusive<T>,
) -> String {
    let (min, max) = (allowed.start(), allowed.end());
    format!("{what} {value} is out of range ({min} to {max})")
}

/// As [`out_of_range`], for times.
pub(crate) fn time_out_of_range(
    what: &str,
    value: impl Display,
    allowed: &RangeInclusive<Duration>,
) -> String {
    let [min, max] = [allowed.start(), allowed.end()].map(|end| humantime::format_duration(*end));
    format!("{what} {value} is out of range ({min} to {max})")
}
