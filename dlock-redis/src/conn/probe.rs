//! What is asked of a server once for each connection: whether it may grant locks.

use std::{collections::HashMap, time::Duration};

use dlock_core::{Error, ErrorKind, Result};
use redis::{RedisResult, aio::MultiplexedConnection};

use crate::{config::options::RedisOptions, errors};

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
    /// For how long it has been running, as it says.
    pub(crate) up: Duration,
}

impl Server {
    /// Which process it is, in a word.
    pub(crate) fn run(&self) -> &str {
        match self.client.run.as_str() {
            "" => "unknown",
            run => run,
        }
    }
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
    ///
    /// Fails only if the server did not answer.
    pub(crate) async fn end(&self, connection: &mut MultiplexedConnection) -> RedisResult<()> {
        let ended = redis::cmd("CLIENT")
            .arg("KILL")
            .arg("ID")
            .arg(self.id)
            .exec_async(connection)
            .await;
        match ended {
            Err(error) if error.code().is_some() => {
                // The user may not: an exception that the README states.
                tracing::debug!(%error, "a connection that was left may still deliver");
                Ok(())
            }
            ended => ended,
        }
    }

    /// Whether it is a connection to this run of a server.
    pub(crate) fn is_of_run(&self, run: &str) -> bool {
        self.run == run
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
    let id = redis::cmd("CLIENT").arg("ID").query_async(connection).await;
    let client = Client {
        run: info.get("run_id").copied().unwrap_or_default().to_owned(),
        id: id.map_err(refused)?,
    };
    let up = info
        .get("uptime_in_seconds")
        .and_then(|seconds| seconds.parse().ok())
        .map_or(Duration::ZERO, Duration::from_secs);
    if client.run.is_empty() && !expected.options.restart_guard.is_zero() {
        return Err(Error::new(ErrorKind::Unsupported, errors::NO_RUN));
    }
    Ok(Server { client, up })
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

/// Which process answers on this connection.
pub(crate) async fn run_of(
    connection: &mut MultiplexedConnection,
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

/// Which slots this node of a Cluster has.
pub(crate) async fn slots_of(
    connection: &mut MultiplexedConnection,
    has_tls: bool,
) -> Result<Vec<(u16, u16)>> {
    let nodes = redis::cmd("CLUSTER")
        .arg("NODES")
        .query_async(connection)
        .await;
    let nodes: String = nodes.map_err(|error| errors::of_slots(error, has_tls))?;
    Ok(slots_of_myself(&nodes))
}

/// From lines of: id, address, flags, master, two times, epoch, link, slots.
fn slots_of_myself(nodes: &str) -> Vec<(u16, u16)> {
    let myself = nodes.lines().find(|line| {
        let flags = line.split(' ').nth(2).unwrap_or_default();
        flags.split(',').any(|flag| flag == "myself")
    });
    let slots = myself.unwrap_or_default().split(' ').skip(8);
    let ranges = slots.filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        // What is on its way to another node stands in brackets.
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
        assert_eq!(slots_of_myself(nodes), [(0, 5460), (7000, 7000)]);
        assert_eq!(slots_of_myself(""), []);
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
