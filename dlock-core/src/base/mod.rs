//! The words that every part of core uses; they know nothing of a runtime.

pub(crate) mod lock;
