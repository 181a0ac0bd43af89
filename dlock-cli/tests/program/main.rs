//! The program as its users meet it: real processes, real signals, real files.

#![expect(clippy::expect_used, reason = "these are tests")]

mod bench;
mod contention;
mod ending;
mod inspect;
mod loss;
mod run;
mod secrets;
mod setup;
mod signals;
mod support;
mod terminal;
mod usage;
