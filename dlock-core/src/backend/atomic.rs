//! The atomics of `state.rs`: std's here, loom's in the state-space test that includes that file.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
