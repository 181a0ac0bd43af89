//! The changes between two runs.
//!
//! Rates of two runs cannot be compared: the machine was another one each time. So ratios to the driver are, which was
//! measured in turns with dlock, and ratios of processor time.

mod change;
mod limit;
mod runs;
mod show;
mod warnings;

pub use self::{
    change::{Change, Judgement},
    limit::Against,
    runs::{Compared, compare},
};
