//! Notifications of releases, for waiters.

mod spread;
mod subscriptions;
mod waiter;
mod wake_up;

pub(crate) use self::{subscriptions::Subscriptions, waiter::Waiter};
