//! The sides of the comparisons: each runs for a slice of time, and reports what ended within it.

mod cycles;
mod exchange;
mod hand_over;
mod new_names;
mod one_shot;
mod runner;

pub(crate) use self::{
    cycles::Cycling,
    exchange::Exchanging,
    hand_over::HandingOver,
    new_names::{Locked, NewNames},
    one_shot::OneShots,
    runner::{Runner, Sample},
};
