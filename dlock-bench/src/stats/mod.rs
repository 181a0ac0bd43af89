//! Statistics: distributions of durations, and intervals by bootstrap.

mod bootstrap;
mod durations;

pub(crate) use self::{
    bootstrap::{Bootstrap, RESAMPLES, median, median_ns},
    durations::Durations,
};
