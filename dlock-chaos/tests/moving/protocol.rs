//! The messages between a worker and its parent.

use std::time::Duration;

use dlock_verify::history::Event;
use serde::{Deserialize, Serialize};

/// The environment variable with a worker's [`Assignment`] as JSON.
pub(crate) const WORKER_ENV: &str = "DLOCK_MOVING_WORKER";

/// The locks that all workers want.
pub(crate) const NAMES: [&str; 3] = ["jobs/0", "jobs/1", "jobs/2"];

/// The ttl of all locks. Outages are shorter or longer than it.
pub(crate) const TTL: Duration = Duration::from_secs(2);

/// A worker's task, as its parent passes it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    pub(crate) url: String,
    pub(crate) client: u32,
    pub(crate) seed: u64,
    /// Whether it keeps the URL of the old store after the switch, which refuses it then.
    pub(crate) is_forgotten: bool,
}

/// A report of a worker to its parent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// An event of the history.
    Event(Event),
    /// An error that no fault explains; its text.
    Unexpected(String),
    /// The same of a worker that is forgotten at the switch.
    Refused(String),
}

/// An order of the parent to its worker.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Release all locks and leave.
    End,
}
