//! The configuration, as its users and the authors of backends see it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by it"
)]

#[cfg(feature = "serde")]
mod deserialize;
mod registry;
mod secrets;
mod settings;
mod sources;
mod stores;
mod url;
