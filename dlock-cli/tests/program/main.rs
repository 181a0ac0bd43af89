//! The program as its users meet it: real processes, real signals, real files.

#![expect(clippy::expect_used, reason = "these are tests")]

mod at_least;
mod bench;
mod bench_data;
mod bench_ended;
mod contention;
mod cron;
mod ending;
mod hints;
mod inspect;
mod loss;
mod migrate;
mod migrate_holders;
mod not_named;
mod quorum;
mod run;
mod secrets;
mod setup;
mod signals;
mod support;
mod terminal;
mod usage;
mod verbose;
mod waiting;
