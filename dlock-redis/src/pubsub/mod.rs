//! Notifications of releases, for waiters.

mod subscriptions;
mod waiter;

pub(crate) use self::{subscriptions::Subscriptions, waiter::Waiter};
