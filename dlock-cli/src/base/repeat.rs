//! Signals that are one request.

pub(crate) use dlock_verify::signals::{Counts, Repeat};
