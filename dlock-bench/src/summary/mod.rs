//! From what the rounds recorded to the data of the stores.

mod comparisons;
mod cycles;
mod limit;
mod noise;
mod recorded;

pub(crate) use self::recorded::Summary;
