//! Quorums of stores, and what happens when some of them fail.

mod config;
mod faults;
mod losses;
mod opening;
mod panics;
mod releases;
mod support;
mod tokens;
mod waiting;
