//! A run as text for a terminal.

mod columns;
mod numbers;
mod run;

pub use self::run::show;
