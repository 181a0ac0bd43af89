//! Quorums of stores, and what happens when some of them fail.

mod config;
mod faults;
mod opening;
mod support;
mod tokens;
mod waiting;
