//! The report of a run: its content, that it is safe to open, and that it has not changed.

#![expect(clippy::expect_used, reason = "a test fails by it")]

mod cases;
mod contrast;
mod golden;
mod open;
mod sample;
mod summary;
