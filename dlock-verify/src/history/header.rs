//! The first line of a history: the run that it is of.

use std::{collections::BTreeMap, time::Duration};

use dlock_core::{Capabilities, Expiry, Fencing, Modes, Order};
use serde::{Deserialize, Serialize};

/// The format that this version of dlock writes and reads.
pub const FORMAT: &str = "dlock-history/1";

/// The run that a history is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Header {
    /// The format: [`FORMAT`].
    pub format: String,
    /// The seed of all random numbers of the run.
    pub seed: u64,
    /// The plan, as its program prints it.
    pub plan: String,
    /// The store, without a password.
    pub store: String,
    /// The versions by program: `dlock`, `redis`.
    pub versions: BTreeMap<String, String>,
    /// The commit of dlock, where it is known.
    pub commit: Option<String>,
    /// The ttl of the locks.
    pub ttl: Duration,
    /// The capabilities of the backend.
    pub capabilities: RecordedCapabilities,
}

/// [`Capabilities`] in a history: the ones that checks depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedCapabilities {
    /// The backend's name.
    pub backend: String,
    /// Whether shared locks exist.
    pub shared: bool,
    /// Whether tokens grow.
    pub fencing: bool,
    /// Whether waiters are served in order.
    pub fifo: bool,
    /// Whether holds end by time: by a lease or a session, rather than with their process.
    pub ends_by_time: bool,
    /// How long after a holder's death its lock is granted, beyond what is left of the ttl.
    pub takeover_max: Duration,
}

impl Header {
    /// The header of a run of this version of dlock. Its maps and texts are empty.
    #[must_use]
    pub fn new(seed: u64, ttl: Duration, capabilities: &Capabilities) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self {
            format: FORMAT.to_owned(),
            seed,
            plan: String::new(),
            store: capabilities.backend.to_owned(),
            versions: BTreeMap::from([("dlock".to_owned(), version)]),
            commit: None,
            ttl,
            capabilities: capabilities.into(),
        }
    }
}

impl From<&Capabilities> for RecordedCapabilities {
    fn from(capabilities: &Capabilities) -> Self {
        Self {
            backend: capabilities.backend.to_owned(),
            shared: capabilities.modes == Modes::ExclusiveAndShared,
            fencing: capabilities.fencing == Fencing::Growing,
            fifo: capabilities.order == Order::Fifo,
            ends_by_time: capabilities.expiry != Expiry::Process,
            takeover_max: capabilities.takeover_max,
        }
    }
}
