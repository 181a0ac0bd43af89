//! Parts that more than one backend is built from.

pub(crate) mod batcher;
pub(crate) mod single_flight;

pub use crate::base::lock::Lock;
