//! The messages between a worker and its parent.

use std::time::Duration;

use dlock_verify::history::Event;
use serde::{Deserialize, Serialize};

/// The environment variable with a worker's [`Assignment`] as JSON.
pub(super) const WORKER_ENV: &str = "DLOCK_CONFORMANCE_WORKER";

/// A worker's task, as its parent passes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Assignment {
    pub(super) target: String,
    pub(super) address: String,
    pub(super) client: u32,
    pub(super) task: Task,
}

/// A report of a worker to its parent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// An event of the history.
    Event(Event),
    /// A read of the register, or a write.
    Access {
        name: String,
        token: u64,
        wrote: Option<u64>,
    },
}

/// An order of the parent to its worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// The register's answer to its access.
    Answer(Option<u64>),
    /// Release the lock.
    Release,
}

/// A task of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Task {
    /// Takes part in a contest for `name`.
    Contend {
        name: String,
        rounds: u32,
        shared_every: Option<u32>,
        ttl: Duration,
    },
    /// Opens many clients, one after the other, and checks that the process keeps nothing of them.
    ClientChurn { name: String },
    /// Acquires `name` and writes to its register until the lock is lost or the parent orders the release.
    Hold { name: String, ttl: Duration },
}
