//! The promises of the core, on the memory backend.

#![expect(clippy::expect_used, reason = "a test fails by it")]

mod backend;
#[cfg(feature = "blocking")]
mod blocking;
mod cancel;
mod common;
mod guarded;
mod home;
mod input;
mod metrics;
mod multi;
mod paused;
mod public_types;
mod recorder;
mod renewal;
mod renewal_log;
mod runtime;
mod scope;
mod shutdown;
mod spans;
mod wait;
