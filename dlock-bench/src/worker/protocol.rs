//! The messages between the run and its workers.

use serde::{Deserialize, Serialize};

/// A request to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Take turns on one name with another process.
    Turns { name: String, millis: u64 },
    /// Take and free one name all the time, between two moments of the boot-time clock.
    Contend {
        name: String,
        begin_ns: u64,
        end_ns: u64,
    },
    /// Take all names, spread over a time, and hold them until the end of the process.
    Hold {
        names: Vec<String>,
        ttl_ms: u64,
        within_ms: u64,
    },
    /// Keep all cores from sleeping for so long, or until the next request.
    Spin { millis: u64 },
}

/// The answer of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// The worker is connected, or ready to spin: its first line, without a request.
    Connected,
    /// The result of [`Request::Turns`].
    Turns(Vec<Turn>),
    /// The result of [`Request::Contend`].
    Contended { grants: u64, longest_wait_ns: u64 },
    /// All names are held.
    Held,
    /// The answer to [`Request::Spin`].
    Spinning,
    /// The failure; the worker ends.
    Failed(String),
}

/// One hold, in nanoseconds on the machine's boot-time clock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Turn {
    pub(crate) process: u32,
    pub(crate) granted_ns: u64,
    pub(crate) releasing_ns: u64,
}
