//! Numbers as the cells of a table.

use super::{super::table::NONE, data::Interval};

/// The value with half of its spread.
pub(super) fn plain(interval: Interval) -> String {
    let half = (interval.high - interval.low) / 2.0;
    let digits = digits(interval.value);
    format!("{:.digits$} ± {half:.digits$}", interval.value)
}

pub(super) fn short(number: f64) -> String {
    format!("{number:.*}", digits(number))
}

/// The value, and the interval if there were rounds enough.
pub(super) fn sure(interval: Interval) -> String {
    let value = short(interval.value);
    match interval.sure {
        Some([low, high]) => format!("{value} ({}–{})", short(low), short(high)),
        None => value,
    }
}

/// The cell of a figure that a client may not have.
pub(super) fn cell<T>(figure: Option<T>, text: impl Fn(T) -> String) -> String {
    figure.map_or_else(|| NONE.to_owned(), text)
}

/// How many digits behind the point are of use.
fn digits(number: f64) -> usize {
    match number {
        10.0.. => 0,
        _ => 2,
    }
}
