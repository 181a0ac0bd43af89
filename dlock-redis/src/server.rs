//! What is asked of a server once for each connection: whether it may grant locks.

use std::{collections::HashMap, time::Duration};

use dlock_core::{Error, ErrorKind, Result};
use redis::aio::MultiplexedConnection;

use crate::{errors, options::RedisOptions};

/// The server's uptime is in whole seconds, of a clock that counts them from elsewhere: it may be
/// this much less.
const UPTIME_ERROR: Duration = Duration::from_secs(1);

/// What is expected of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<'a> {
    pub(crate) options: &'a RedisOptions,
    /// A node of a Cluster.
    pub(crate) clustered: bool,
    pub(crate) has_tls: bool,
}

/// What the server behind a new connection is like.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// Who we are to it.
    pub(crate) client: Client,
    /// For how long it must not grant anything yet.
    pub(crate) guarded: Duration,
    /// What its clock shows, in microseconds: no less than all tokens that it gave before, and no
    /// less than those of which a restart or a failover has left it an older counter (K5).
    pub(crate) now: u64,
}

/// A connection as its server knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    /// Of the server; another one after its restart.
    run: String,
    id: u64,
}

impl Client {
    /// Ends a connection that we have left, before anything is asked on the new one: what was on its
    /// way on it would come after what undoes it, and nobody would hold the lock until its ttl ends
    /// (K7, K9).
    pub(crate) async fn end(&self, connection: &mut MultiplexedConnection) {
        let ended = redis::cmd("CLIENT")
            .arg("KILL")
            .arg("ID")
            .arg(self.id)
            .exec_async(connection)
            .await;
        if let Err(error) = ended {
            // The user may not: an exception that the README states.
            tracing::debug!(%error, "a connection that was left may still deliver");
        }
    }

    /// Whether the server that has this connection also had `other`.
    pub(crate) fn is_of_run_of(&self, other: &Self) -> bool {
        // One that does not say who it is may be another one.
        !self.run.is_empty() && self.run == other.run
    }
}

/// Looks at the server; an error if it must not grant at all.
pub(crate) async fn check(
    connection: &mut MultiplexedConnection,
    expected: Expected<'_>,
) -> Result<Server> {
    let refused = |error| errors::of_connect(error, expected.has_tls);
    let info = redis::cmd("INFO").query_async(connection).await;
    let info: String = info.map_err(refused)?;
    let info = parse(&info);
    if let Some((kind, why)) = disqualified(&info, expected) {
        return Err(Error::new(kind, why));
    }
    let time = redis::cmd("TIME").query_async(connection).await;
    let (seconds, micros): (u64, u64) = time.map_err(refused)?;
    let id = redis::cmd("CLIENT").arg("ID").query_async(connection).await;
    let client = Client {
        run: info.get("run_id").copied().unwrap_or_default().to_owned(),
        id: id.map_err(refused)?,
    };
    let up = info
        .get("uptime_in_seconds")
        .and_then(|seconds| seconds.parse().ok())
        .map_or(Duration::ZERO, Duration::from_secs);
    let guarded = expected
        .options
        .restart_guard
        .saturating_sub(up.saturating_sub(UPTIME_ERROR));
    let forgets = !guarded.is_zero() && !remembers(&info, connection).await;
    Ok(Server {
        client,
        guarded: if forgets { guarded } else { Duration::ZERO },
        now: seconds.saturating_mul(1_000_000).saturating_add(micros),
    })
}

/// Why it grants nothing.
fn disqualified(
    info: &HashMap<&str, &str>,
    expected: Expected<'_>,
) -> Option<(ErrorKind, &'static str)> {
    let is = |field, value| info.get(field) == Some(&value);
    match info.get("redis_mode").or_else(|| info.get("server_mode")) {
        Some(&"sentinel") => return Some((ErrorKind::InvalidConfig, errors::IS_SENTINEL)),
        Some(&"cluster") if !expected.clustered => {
            return Some((ErrorKind::InvalidConfig, errors::IS_CLUSTER));
        }
        Some(&"standalone") if expected.clustered => {
            return Some((ErrorKind::InvalidConfig, errors::NO_CLUSTER));
        }
        _ => {}
    }
    if is("loading", "1") {
        return Some((ErrorKind::Unavailable, errors::LOADING));
    }
    if info.contains_key("role") && !is("role", "master") {
        return Some((ErrorKind::Unavailable, errors::REPLICA));
    }
    if !expected.options.may_evict && evicts(info) {
        // T12: it would throw away locks, or the counters of tokens, when memory is short.
        let why = "the server may evict locks: set its maxmemory-policy to noeviction, or accept \
                   that with may_evict=true";
        return Some((ErrorKind::InvalidConfig, why));
    }
    None
}

/// Whether the server has every write that it acknowledged after a restart (T14). One that keeps its
/// configuration from us is not trusted with that.
async fn remembers(info: &HashMap<&str, &str>, connection: &mut MultiplexedConnection) -> bool {
    if info.get("aof_enabled") != Some(&"1") {
        return false;
    }
    let fsync: Result<HashMap<String, String>, _> = redis::cmd("CONFIG")
        .arg("GET")
        .arg("appendfsync")
        .query_async(connection)
        .await;
    fsync.is_ok_and(|fsync| {
        fsync
            .get("appendfsync")
            .is_some_and(|value| value == "always")
    })
}

fn evicts(info: &HashMap<&str, &str>) -> bool {
    let limited = info.get("maxmemory").is_some_and(|bytes| *bytes != "0");
    limited
        && info
            .get("maxmemory_policy")
            .is_some_and(|policy| *policy != "noeviction")
}

fn parse(info: &str) -> HashMap<&str, &str> {
    info.lines()
        .filter_map(|line| line.trim_end().split_once(':'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eviction_needs_a_limit_and_a_policy() {
        let evicting = |text| evicts(&parse(text));
        assert!(evicting(
            "# Memory\r\nmaxmemory:100\r\nmaxmemory_policy:volatile-lru\r\n"
        ));
        assert!(!evicting("maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n"));
        assert!(!evicting(
            "maxmemory:100\r\nmaxmemory_policy:noeviction\r\n"
        ));
    }
}
