//! Parts that more than one backend is built from.

pub use crate::base::lock::Lock;
