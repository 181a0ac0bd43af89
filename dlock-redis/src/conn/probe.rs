//! Probes of a server, on each new connection: whether it may grant locks.

use std::{collections::HashMap, time::Duration};

use dlock_core::{Error, ErrorKind, Result};
use redis::RedisResult;

use super::driver::DriverConnection;
use crate::{config::Options, errors};

/// Requirements on a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<'a> {
    pub(crate) options: &'a Options,
    /// Whether it must be a node of a Cluster.
    pub(crate) clustered: bool,
    pub(crate) has_tls: bool,
}

/// The server behind a new connection.
#[derive(Clone, Debug)]
pub(crate) struct ServerInfo {
    /// The connection, as the server identifies it.
    pub(crate) client: ClientId,
    /// The server's uptime, as the server reports it.
    pub(crate) uptime: Duration,
    /// Whether it may evict locks, or the counters of tokens, when memory is short.
    pub(crate) evicts: bool,
    /// Whether it deletes a key if it has a value: Valkey does from version 9 on.
    pub(crate) has_native_release: bool,
}

impl ServerInfo {
    /// The id of the server process, for the record.
    pub(crate) fn run_id(&self) -> &str {
        match self.client.run_id.as_str() {
            "" => "unknown",
            run_id => run_id,
        }
    }
}

/// A connection, as its server identifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientId {
    /// The id of the server process: a restart changes it.
    run_id: String,
    id: u64,
}

impl ClientId {
    /// Kills an abandoned connection, before the first request on the new one.
    ///
    /// A delayed acquire would otherwise execute after its rollback, and leave a lock without a holder
    /// until its ttl ends (K7, K9). Fails only if the server did not answer.
    pub(crate) async fn kill(&self, connection: &mut DriverConnection) -> RedisResult<()> {
        let ended = redis::cmd("CLIENT")
            .arg("KILL")
            .arg("ID")
            .arg(self.id)
            .exec_async(connection)
            .await;
        match ended {
            Err(error) if error.code().is_some() => {
                // Not allowed for this user: `redis.late` in the contract's exceptions.
                tracing::debug!(%error, "requests on an abandoned connection may still be executed");
                Ok(())
            }
            ended => ended,
        }
    }

    /// Whether it is a connection to this server process.
    pub(crate) fn is_of_run(&self, run_id: &str) -> bool {
        self.run_id == run_id
    }

    /// Whether `other` is a connection to the same server process.
    pub(crate) fn is_of_same_run(&self, other: &Self) -> bool {
        // A server without a run id may be another one.
        !self.run_id.is_empty() && self.run_id == other.run_id
    }
}

/// Probes the server; an error if it is of another kind, or cannot be used at present.
pub(crate) async fn probe(
    connection: &mut DriverConnection,
    expected: Expected<'_>,
) -> Result<ServerInfo> {
    let failed = |error| errors::of_connect(error, expected.has_tls);
    let info = redis::cmd("INFO").query_async(connection).await;
    let info: String = info.map_err(failed)?;
    let info = parse(&info);
    if let Some((kind, why)) = refusal(&info, expected) {
        return Err(Error::new(kind, why));
    }
    let id = redis::cmd("CLIENT").arg("ID").query_async(connection).await;
    let client = ClientId {
        run_id: info.get("run_id").copied().unwrap_or_default().to_owned(),
        id: id.map_err(failed)?,
    };
    let uptime = info
        .get("uptime_in_seconds")
        .and_then(|seconds| seconds.parse().ok())
        .map_or(Duration::ZERO, Duration::from_secs);
    if client.run_id.is_empty() && !expected.options.restart_guard.is_zero() {
        return Err(Error::new(ErrorKind::Unsupported, errors::NO_RUN_ID));
    }
    Ok(ServerInfo {
        client,
        uptime,
        evicts: evicts(&info),
        has_native_release: has_native_release(&info),
    })
}

fn has_native_release(info: &HashMap<&str, &str>) -> bool {
    let version = info.get("valkey_version");
    let major = version.and_then(|version| version.split('.').next()?.parse().ok());
    major.is_some_and(|major: u32| major >= 9)
}

/// The reason why the server cannot be used.
fn refusal(
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
    None
}

/// The id of the server process behind this connection.
pub(crate) async fn fetch_run_id(
    connection: &mut DriverConnection,
    has_tls: bool,
) -> Result<String> {
    let info = redis::cmd("INFO")
        .arg("server")
        .query_async(connection)
        .await;
    let info: String = info.map_err(|error| errors::of_connect(error, has_tls))?;
    Ok(parse(&info)
        .get("run_id")
        .copied()
        .unwrap_or_default()
        .to_owned())
}

/// The slots that this node of a Cluster owns.
pub(crate) async fn fetch_own_slots(
    connection: &mut DriverConnection,
    has_tls: bool,
) -> Result<Vec<(u16, u16)>> {
    let nodes = redis::cmd("CLUSTER")
        .arg("NODES")
        .query_async(connection)
        .await;
    let nodes: String = nodes.map_err(|error| errors::of_slots(error, has_tls))?;
    Ok(own_slots(&nodes))
}

/// Parses lines of: id, address, flags, master, two times, epoch, link, slots.
fn own_slots(nodes: &str) -> Vec<(u16, u16)> {
    let myself = nodes.lines().find(|line| {
        let flags = line.split(' ').nth(2).unwrap_or_default();
        flags.split(',').any(|flag| flag == "myself")
    });
    let slots = myself.unwrap_or_default().split(' ').skip(8);
    let ranges = slots.filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        // A slot that is moving to another node is in brackets: it is skipped.
        Some((first.parse().ok()?, last.parse().ok()?))
    });
    ranges.collect()
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
    fn a_node_has_the_slots_of_its_own_line() {
        let nodes = "07c3 10.0.0.1:6379@16379 master - 0 1426238317239 4 connected 5461-10922\n\
                     e7d1 10.0.0.2:6379@16379,host myself,master - 0 0 1 connected 0-5460 7000 [93-<-07c3]\n";
        assert_eq!(own_slots(nodes), [(0, 5460), (7000, 7000)]);
        assert_eq!(own_slots(""), []);
    }

    #[test]
    fn only_valkey_9_has_a_native_release() {
        let has = |text| has_native_release(&parse(text));
        assert!(has("redis_version:7.2.4\r\nvalkey_version:9.1.2\r\n"));
        assert!(has("valkey_version:10.0.0\r\n"));
        assert!(!has("redis_version:7.2.4\r\nvalkey_version:8.1.4\r\n"));
        assert!(!has("redis_version:9.0.0\r\n"));
        assert!(!has(""));
    }

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
