//! Triggers: the events of the protocol at which a fault strikes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The event that a card waits for. The worker that it happens to is the fault's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Trigger {
    /// The n-th grant of a name from now on.
    Grant {
        /// The number of the name.
        name: usize,
        /// Which grant, from 1.
        nth: u32,
    },
    /// A holder whose name others request has found its guard held, for the n-th time from now on. It will write in at
    /// most 50 ms.
    BeforeWrite {
        /// Which check, from 1.
        nth: u32,
    },
    /// A worker requests a name that is held, for the n-th time from now on, and will wait.
    Queued {
        /// Which wait, from 1.
        nth: u32,
    },
    /// A worker sends its n-th burst of bytes to the servers from now on.
    Burst {
        /// The number of the worker.
        worker: usize,
        /// Which burst, from 1.
        nth: u32,
    },
    /// So many milliseconds after the fault before has begun.
    During {
        /// Milliseconds.
        ms: u64,
    },
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grant { name, nth } => write!(f, "grant {nth} of n{name:02}"),
            Self::BeforeWrite { nth } => write!(f, "before write {nth}"),
            Self::Queued { nth } => write!(f, "waiter {nth}"),
            Self::Burst { worker, nth } => write!(f, "burst {nth} of worker {worker}"),
            Self::During { ms } => write!(f, "{ms} ms into the fault before"),
        }
    }
}
