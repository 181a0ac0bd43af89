//! Rows of a reply.

use dlock_core::{Error, Result};

use crate::errors;

/// A row of a reply: all values as text.
pub(crate) type Row = Vec<Option<String>>;

/// Whether the variable in a column is on; some versions send a number, others a word.
pub(crate) fn is_on(row: &Row, column: usize) -> Result<bool> {
    match row.get(column).and_then(Option::as_deref) {
        Some(value) => Ok(!["0", "OFF"].contains(&value)),
        None => Err(unexpected_reply(row)),
    }
}

/// The bytes in a column that was selected by `HEX()`; `None` if they are no such digits.
pub(crate) fn bytes(row: &Row, column: usize) -> Option<Vec<u8>> {
    let hex = row.get(column)?.as_deref()?;
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// The number in a column.
pub(crate) fn number(row: &Row, column: usize) -> Result<u64> {
    let text = row.get(column).and_then(Option::as_deref);
    // Decimals have nothing after the point.
    let whole = text.map(|text| text.split('.').next().unwrap_or(text));
    whole
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| unexpected_reply(row))
}

fn unexpected_reply(row: &Row) -> Error {
    errors::unexpected_reply(format_args!("{row:?}"))
}
