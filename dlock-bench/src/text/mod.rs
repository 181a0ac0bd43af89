//! A run as text for a terminal.

mod columns;
mod numbers;
mod run;
mod verdict;

pub use self::run::show;
