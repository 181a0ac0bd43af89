//! Notifications of releases.

pub(crate) mod subscriptions;
