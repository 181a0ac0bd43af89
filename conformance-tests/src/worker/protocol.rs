//! What a worker and its parent say to each other.

use std::time::Duration;

use dlock_verify::history::Event;
use serde::{Deserialize, Serialize};

/// Set for a worker: its [`Assignment`] as JSON.
pub(super) const WORKER_ENV: &str = "DLOCK_CONFORMANCE_WORKER";

/// What a worker is for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Assignment {
    pub(super) target: String,
    pub(super) address: String,
    pub(super) client: u32,
    pub(super) task: Task,
}

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// Something happened.
    Event(Event),
    /// It reads the register, or writes to it.
    Access {
        name: String,
        token: u64,
        wrote: Option<u64>,
    },
}

/// What a worker is told.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// The register's answer to its access.
    Answer(Option<u64>),
    /// Stop holding.
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
    /// Makes many clients, one after the other, and looks at what is left of them in the process.
    Churn { name: String },
    /// Takes `name` and works on its register until it is told to release it, or it is lost.
    Hold { name: String, ttl: Duration },
}
