//! Whether a server's data still have all locks that were granted.
//!
//! The record says in which run of the server the present history began, and when by its clock. A missing record,
//! or one of another run, means that locks may be lost. Causes are a restart, a wiped disk, `FLUSHALL`, or the
//! promotion of a replica that was empty or behind. A new history begins then, and grants nothing for a while.

use std::{collections::HashSet, time::Duration};

use dlock_core::{BootInstant, Error, ErrorKind, Result};
use redis::{RedisResult, Value};

use super::driver::DriverConnection;
use crate::{
    config::Options,
    conn::{
        probe::ServerInfo,
        record::{Began, Record},
    },
    errors,
    keys::{self, slots::SLOTS},
    scripts::{GrantCheck, HistoryCall, HistoryReply},
};

/// The error of the server's uptime: it has whole seconds, and its clock another origin.
const UPTIME_ERROR: Duration = Duration::from_secs(1);

/// A Cluster's master has its record in the first and the last slot of at most so many ranges of slots. So a slot
/// that moves away seldom takes the last record along.
const RANGES_MAX: usize = 4;

/// The most that the clocks of two servers differ, rates included, before one server is taken for two.
const CLOCK_ERROR: Duration = Duration::from_secs(5);

/// A server that answers so long after the last reply of the former one is its successor.
const SUCCESSOR_AFTER: Duration = Duration::from_secs(30);

/// The history of a server, as it was when a connection to it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct History {
    record_keys: Vec<String>,
    /// The record, as it is stored.
    text: String,
    record: Record,
    /// The server's clock, in microseconds.
    server_time: u64,
    /// Whether this connection has begun it.
    is_new: bool,
}

/// The history of a server that this client was in contact with.
#[derive(Clone, Debug)]
pub(super) struct Former {
    pub(super) history: History,
    /// The time of its last reply.
    pub(super) contact: BootInstant,
}

impl History {
    /// Reads the record, and begins a new history if there is none of this run of the server.
    ///
    /// `InvalidConfig` for another layout; `Unavailable` when it cannot be written.
    pub(super) async fn open(
        connection: &mut DriverConnection,
        server: &ServerInfo,
        options: &Options,
        slots: Option<&[(u16, u16)]>,
        least_token: u64,
    ) -> Result<Self> {
        let mut record_keys = record_keys(options.prefix(), slots);
        let counter = slots
            .is_none()
            .then(|| keys::counter(options.prefix(), None));
        let began = Began::after(server.uptime.saturating_sub(UPTIME_ERROR), options);
        let mut tries = record_keys.len();
        let reply: Vec<Value> = loop {
            if record_keys.is_empty() {
                return Err(Error::new(ErrorKind::Unavailable, errors::NO_SLOTS));
            }
            let call = HistoryCall {
                record_keys: &record_keys,
                counter: counter.as_deref(),
                run_id: server.run_id(),
                began: began.as_str(),
                least_token,
                layout: options.format.layout(),
            };
            tries -= 1;
            let reply = call.render().query_async(connection).await;
            match reply.map_err(errors::of_request) {
                // The slot of the first key is moving to another node.
                Err(error) if tries > 0 && errors::redirect(&error).is_some() => {
                    record_keys.rotate_left(1);
                }
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    return Err(errors::record_of_other_type(&record_keys));
                }
                reply => break reply?,
            }
        };
        let reply = HistoryReply::parse(&reply)?;
        let record = Record::parse(&reply.record, options.format)?;
        if reply.has_other_layout {
            let what = format!(
                "a record of this layout as another one's: {:?}",
                reply.record
            );
            return Err(errors::unexpected_reply(what));
        }
        Ok(Self {
            record_keys,
            text: reply.record,
            record,
            server_time: reply.server_time,
            is_new: reply.is_new,
        })
    }

    /// `InvalidConfig` if this node of a Cluster has a record of another layout.
    pub(super) async fn check_layout(
        connection: &mut DriverConnection,
        options: &Options,
        slots: &[(u16, u16)],
    ) -> Result<()> {
        for key in record_keys(options.prefix(), Some(slots)) {
            let record: RedisResult<Option<String>> =
                redis::cmd("GET").arg(key).query_async(connection).await;
            match record {
                Ok(Some(record)) => drop(Record::parse(&record, options.format)?),
                // Without an answer nothing is known.
                Err(error) if error.code().is_none() => return Err(errors::of_request(error)),
                // The slot may have moved away, or the user may not read the key: opening the history reports that.
                Ok(None) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// The conditions that the server verifies before it grants.
    pub(super) fn grant_check(&self, least_token: u64) -> GrantCheck<'_> {
        GrantCheck {
            record_keys: &self.record_keys,
            record: &self.text,
            least_token,
        }
    }

    /// How long nothing is granted from now on: at most the guard, also if the clock was set back.
    pub(super) fn grace(&self, options: &Options) -> Duration {
        self.record.began.guard(options).saturating_sub(self.age())
    }

    /// The error while nothing is granted, for `grace` more.
    pub(super) fn refusal(&self, grace: Duration) -> Error {
        let (what, key) = match self.record.began {
            Began::New => (
                "the server has no record of dlock: it is new to it, or has lost all data",
                "restart_guard",
            ),
            Began::Restart => (
                "the server was restarted and may have lost locks",
                "restart_guard",
            ),
            Began::Failover => (
                "another server was promoted and may lack the last locks",
                "failover_guard",
            ),
        };
        let secs = grace.as_secs() + 1;
        let why = format!(
            "{what}; it grants none for {secs} s more (set by {key}=; for tests, containers and CI set {key}=0s)"
        );
        Error::new(ErrorKind::Unavailable, why)
    }

    /// Whether this server and the `former` one at the same address are two independent servers. Then this history
    /// had begun before the other server's last reply, and does not follow its history.
    pub(super) fn is_independent_of(&self, former: &Former, now: BootInstant) -> bool {
        let known = &former.history.record;
        let silence = now.since(former.contact);
        // A history that begins now is guarded, and so is one that follows the known one.
        !self.is_new
            && self.record.run != known.run
            && self.record.former_run != known.run
            && self.age() > silence + CLOCK_ERROR
            && silence <= SUCCESSOR_AFTER
    }

    fn age(&self) -> Duration {
        Duration::from_micros(self.server_time.saturating_sub(self.record.since))
    }
}

/// The keys of the record: in a Cluster in the first and the last slot of the node's ranges.
fn record_keys(prefix: &str, slots: Option<&[(u16, u16)]>) -> Vec<String> {
    let Some(ranges) = slots else {
        return vec![keys::record(prefix, None)];
    };
    let mut seen = HashSet::new();
    let ends = ranges.iter().take(RANGES_MAX).flat_map(|&(a, b)| [a, b]);
    let ends = ends.filter(|slot| *slot < SLOTS && seen.insert(*slot));
    ends.map(|slot| keys::record(prefix, Some(slot))).collect()
}
