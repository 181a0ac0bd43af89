//! A run as text for a terminal.

mod columns;
mod numbers;
mod run;
mod tables;
mod verdict;

pub use self::run::show;
pub(crate) use self::{columns::Table, numbers::ratio};
