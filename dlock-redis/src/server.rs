//! What is asked of a server once for each connection: whether it may grant locks.

use std::{collections::HashMap, time::Duration};

use dlock_core::{Error, ErrorKind, Result};
use redis::aio::MultiplexedConnection;

use crate::{config::RedisConfig, errors};

/// For how long the server behind a new connection must not grant anything yet; an error if it must
/// never.
pub(crate) async fn check(
    connection: &mut MultiplexedConnection,
    config: &RedisConfig,
) -> Result<Duration> {
    let info: String = redis::cmd("INFO")
        .query_async(connection)
        .await
        .map_err(errors::of_connect)?;
    let info = parse(&info);
    if info.get("role").is_some_and(|role| *role != "master") {
        let why = "this is a replica, which forgets; give the primary's address";
        return Err(Error::new(ErrorKind::Unavailable, why));
    }
    if !config.may_evict && evicts(&info) {
        // T12: it would throw away locks, or the counters of tokens, when memory is short.
        let why = "the server may evict locks: set its maxmemory-policy to noeviction, or accept \
                   that with may_evict=true";
        return Err(Error::new(ErrorKind::InvalidConfig, why));
    }
    let up = info
        .get("uptime_in_seconds")
        .and_then(|seconds| seconds.parse().ok());
    let up = Duration::from_secs(up.unwrap_or(0));
    let wait = config.restart_guard.saturating_sub(up);
    if wait.is_zero() || remembers(&info, connection).await {
        return Ok(Duration::ZERO);
    }
    Ok(wait)
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
