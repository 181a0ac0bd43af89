//! For those who write a backend: parts that several backends share.

pub(crate) mod batcher;
pub(crate) mod single_flight;

pub use self::{
    batcher::{BatchFuture, BatchReply, Batcher},
    single_flight::{SingleFlight, Turn},
};
pub use crate::base::lock::Lock;
