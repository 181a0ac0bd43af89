//! The messages between a worker and its parent.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::resources::Resources;
use crate::{
    chaos::load::Load,
    history::{Event, RegisterKind},
};

/// The environment variable with a worker's [`Assignment`] as JSON.
pub(in crate::chaos) const WORKER_ENV: &str = "DLOCK_CHAOS_WORKER";

/// A worker's task, as its parent passes it.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::chaos) struct Assignment {
    /// Not in `Debug`: it may have a password.
    pub(in crate::chaos) url: String,
    pub(in crate::chaos) client: u32,
    pub(in crate::chaos) worker: usize,
    pub(in crate::chaos) seed: u64,
    pub(in crate::chaos) ttl: Duration,
    pub(in crate::chaos) prefix: String,
    pub(in crate::chaos) load: Load,
}

/// A report of a worker to its parent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::chaos) enum Report {
    /// An event of the history.
    Event(Event),
    /// The guard was found held; a write follows in at most 50 ms.
    BeforeWrite { name: String },
    /// A read of a register, or a write.
    Access {
        task: usize,
        register: RegisterKind,
        name: String,
        token: u64,
        wrote: Option<u64>,
    },
    /// An acquire failed with an error that no fault explains; its text.
    Unexpected(String),
    /// All tasks pause.
    Paused,
    /// The answer to [`Order::Count`].
    Resources(Resources),
}

/// An order of the parent to its worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::chaos) enum Order {
    /// A register's answer to the access of a task.
    Answer { task: usize, value: Option<u64> },
    /// End what is going on, and report [`Report::Paused`]. Pauses are numbered: one may follow another at once.
    Pause { number: u64 },
    /// Go on.
    Resume,
    /// Report the resources.
    Count,
    /// End as with [`Order::Pause`], close the locker and leave.
    End,
}
