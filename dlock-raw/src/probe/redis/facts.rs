//! Reads the settings and the state of one server.

use std::{collections::HashMap, fmt, time::Duration};

use dlock_core::{Clock, Result};
use redis::{RedisError, RedisResult, Value, from_redis_value};

use super::info::Info;
use crate::{
    driver::redis::{Connection, Servers, failed},
    probe::{
        clock::{Sample, sample},
        finding::{Check, Finding, Severity},
        report::Report,
    },
};

/// The settings that `INFO` does not have.
const SETTINGS: [&str; 6] = [
    "appendfsync",
    "min-replicas-to-write",
    "repl-backlog-ttl",
    "save",
    "stop-writes-on-bgsave-error",
    "timeout",
];

/// Why something cannot be read, and what to change so that it can.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) why: String,
    pub(super) grant: String,
}

pub(super) type Answer<T> = Result<T, Refusal>;

/// An event of `LATENCY LATEST`.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) longest: Duration,
}

/// The settings and the state that one server reports.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// The address, if there are several servers.
    label: Option<String>,
    pub(super) info: Answer<Info>,
    pub(super) settings: Answer<HashMap<String, String>>,
    pub(super) events: Answer<Vec<Event>>,
    /// `INFO latencystats`, of servers that have it.
    pub(super) commands: Answer<Info>,
    /// The ids of the connection, of two requests.
    pub(super) ids: Answer<(u64, u64)>,
    /// Whether the account may end connections; `None` if that is unknown.
    pub(super) may_kill: Option<bool>,
    pub(super) time: Answer<Sample>,
}

impl Facts {
    /// Reads them over one connection; `label` is the server's address where there are several.
    ///
    /// # Errors
    ///
    /// When the server does not answer the first request.
    pub(super) async fn read(
        servers: &Servers,
        connection: &Connection,
        label: Option<String>,
    ) -> Result<Self> {
        let refused =
            |right| move |error: RedisError| refusal(&error, servers.user.as_deref(), right);
        let info: RedisResult<String> = connection.request(&["INFO"]).await;
        let info = match info {
            Err(error) if error.code().is_none() => return Err(failed(error)),
            info => info
                .map(|text| Info::parse(&text))
                .map_err(refused("+info")),
        };
        let words: Vec<&str> = ["CONFIG", "GET"].into_iter().chain(SETTINGS).collect();
        let settings: RedisResult<HashMap<String, String>> = connection.request(&words).await;
        let events: RedisResult<Vec<Value>> = connection.request(&["LATENCY", "LATEST"]).await;
        let commands: RedisResult<String> = connection.request(&["INFO", "latencystats"]).await;
        let first: RedisResult<u64> = connection.request(&["CLIENT", "ID"]).await;
        let second: RedisResult<u64> = connection.request(&["CLIENT", "ID"]).await;
        // No connection has this id: only the right is in question.
        let kill: RedisResult<Value> = connection.request(&["CLIENT", "KILL", "ID", "0"]).await;
        Ok(Self {
            label,
            info,
            settings: settings.map_err(refused("+config|get")),
            events: events
                .map(|events| events.into_iter().filter_map(event).collect())
                .map_err(refused("+latency|latest")),
            commands: commands
                .map(|text| Info::parse(&text))
                .map_err(refused("+info")),
            ids: first
                .and_then(|first| second.map(|second| (first, second)))
                .map_err(refused("+client|id")),
            may_kill: match kill {
                Ok(_) => Some(true),
                Err(error) => error.code().map(|code| code != "NOPERM"),
            },
            time: sample(&Clock::boottime(), || time(connection))
                .await
                .map_err(refused("+time")),
        })
    }

    /// A setting that `INFO` does not have.
    pub(super) fn setting(&self, name: &str) -> Answer<&str> {
        match &self.settings {
            Ok(settings) => settings
                .get(name)
                .map(String::as_str)
                .ok_or_else(|| Refusal {
                    why: "the server has no such setting".to_owned(),
                    grant: "a newer server".to_owned(),
                }),
            Err(refusal) => Err(refusal.clone()),
        }
    }

    /// Makes a finding about this server.
    pub(super) fn finds(
        &self,
        check: &Check,
        severity: Severity,
        found: impl fmt::Display,
        wanted: impl fmt::Display,
    ) -> Finding {
        match &self.label {
            Some(label) => check.finds(severity, format_args!("{label}: {found}"), wanted),
            None => check.finds(severity, found, wanted),
        }
    }
}

impl Refusal {
    /// Notes that a check has no answer.
    pub(super) fn note(&self, check: &Check, report: &mut Report) {
        report.no_answer(check, &self.why, &self.grant);
    }
}

/// The server's clock, in microseconds since 1970.
pub(super) async fn time(connection: &Connection) -> RedisResult<u64> {
    let (seconds, micros): (u64, u64) = connection.request(&["TIME"]).await?;
    Ok(seconds * 1_000_000 + micros)
}

pub(super) fn refusal(error: &RedisError, user: Option<&str>, right: &str) -> Refusal {
    let user = user.unwrap_or("default");
    Refusal {
        why: error.to_string(),
        grant: match error.code() {
            Some("NOPERM") => format!("ACL SETUSER {user} {right}"),
            _ => format!(
                "the command behind {right}, which this server does not have or was too slow for"
            ),
        },
    }
}

/// An event has a name, a time, its latest and its longest duration in milliseconds.
fn event(value: Value) -> Option<Event> {
    let fields: Vec<Value> = from_redis_value(value).ok()?;
    let [name, _, _, longest, ..] = &fields[..] else {
        return None;
    };
    Some(Event {
        name: from_redis_value(name.clone()).ok()?,
        longest: Duration::from_millis(from_redis_value(longest.clone()).ok()?),
    })
}
