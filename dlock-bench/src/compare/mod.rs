//! The changes between two runs.
//!
//! Rates of two runs cannot be compared: the machine was another one each time. So ratios to the floor are, which was
//! measured in turns with dlock, and ratios of processor time.

mod change;
mod runs;
mod show;

pub use self::{
    change::{Change, Judgement},
    runs::{Compared, compare},
};
