//! Texts of other libraries, as one line.

use std::fmt;

/// The text of a driver's error, which may be several lines, as one line.
pub(super) fn one_line(source: &impl fmt::Display) -> String {
    let text = source.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
