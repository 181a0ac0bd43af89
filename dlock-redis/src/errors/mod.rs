//! The driver's error → kind, effect and hint.

mod cause;
mod classify;
mod table;
#[cfg(feature = "tls")]
mod tls;

use std::{error::Error as StdError, time::Duration};

use dlock_core::{Effect, Error, ErrorKind};
use redis::{RedisError, Value};

pub(crate) use self::{
    classify::{
        Redirect, RedirectScope, ends_connection, is_connection_failure, is_cut, is_forgotten,
        is_replica, redirect,
    },
    table::{LOADING, REPLICA},
};

/// The address of one server was given to `redis-cluster:`.
pub(crate) const NO_CLUSTER: &str = "that server is not in a Cluster; use redis://";

/// The address of a node was given to `redis:`.
pub(crate) const IS_CLUSTER: &str = "that server is a node of a Cluster; use redis-cluster://";

/// The address of a Sentinel was given to `redis:`.
pub(crate) const IS_SENTINEL: &str =
    "that is a Sentinel; use redis-sentinel://…/NAME, with the name of what it watches";

/// The node was just added to the Cluster.
pub(crate) const NO_SLOTS: &str = "this node of the Cluster has no slots yet";

/// The reason to refuse a server without a `run_id`: a restart is not detected.
pub(crate) const NO_RUN_ID: &str =
    "the server's INFO has no run_id, so restarts are not detected; restart_guard=0s accepts that";

/// The error of a failed request.
pub(crate) fn of_request(error: RedisError) -> Error {
    let (kind, effect, hint) = table::of_reply(&error);
    Error::new(kind, hint)
        .with_effect(effect)
        .with_source(error)
}

/// The error of a failed connect. No request was sent, so it has no effect.
pub(crate) fn of_connect(error: RedisError, has_tls: bool) -> Error {
    let (kind, _, hint) = table::of_reply(&error);
    #[cfg(feature = "tls")]
    let (kind, hint) = tls::of_certificate(&error).unwrap_or((kind, hint));
    // With or without TLS against the port's expectation: the server closes the connection, sends garbage,
    // or waits for more bytes.
    let is_parse = error.kind() == redis::ErrorKind::Parse;
    let may_be_wrong_scheme = is_parse || is_cut(&error) || error.is_timeout();
    #[cfg(feature = "tls")]
    let may_be_wrong_scheme = may_be_wrong_scheme || tls::is(&error);
    let may_be_wrong_scheme = may_be_wrong_scheme && !error.is_connection_refusal();
    let of_system = cause::io(&error).filter(|_| kind == ErrorKind::Unavailable);
    let failed = match of_system.map(Error::unreachable) {
        Some(failed) => failed.with_quoted_source(error),
        // The server's text is long, and about its protocol.
        None if error.code() == Some("NOAUTH") => Error::new(kind, hint).with_quoted_source(error),
        None => Error::new(kind, hint).with_source(error),
    };
    match kind {
        ErrorKind::Unavailable if may_be_wrong_scheme => {
            failed.with_url_hint(other_scheme(has_tls))
        }
        _ => failed,
    }
}

/// The error of a Sentinel that does not name the primary.
pub(crate) fn of_sentinel(error: RedisError, has_tls: bool) -> Error {
    if error.code() == Some("ERR") {
        let why = "that is not a Sentinel; use redis:// or redis-cluster://";
        return Error::new(ErrorKind::InvalidConfig, why).with_source(error);
    }
    of_connect(error, has_tls)
}

/// The error of a node that returns no slot map.
pub(crate) fn of_slots(error: RedisError, has_tls: bool) -> Error {
    if error.code() == Some("ERR") {
        return Error::new(ErrorKind::InvalidConfig, NO_CLUSTER).with_source(error);
    }
    of_connect(error, has_tls)
}

/// Connecting took longer than `max`.
pub(crate) fn connect_timed_out(max: Duration, has_tls: bool) -> Error {
    Error::no_answer(max).with_url_hint(other_scheme(has_tls))
}

fn other_scheme(has_tls: bool) -> &'static str {
    if has_tls {
        "if that port does not speak TLS, the URL begins with redis instead of rediss"
    } else {
        "if that port speaks TLS, the URL begins with rediss instead of redis"
    }
}

/// The error of one lock of many in the reply of a script.
pub(crate) fn of_item(item: &Value) -> Error {
    if let Value::Array(words) = item
        && let [Value::BulkString(line)] = &words[..]
    {
        return of_script(line);
    }
    unexpected_reply("an outcome of another shape")
}

/// The error of one lock of many, as a script returns it.
fn of_script(line: &[u8]) -> Error {
    let line = [b"-", line.strip_prefix(b"-").unwrap_or(line), b"\r\n"].concat();
    let refused = redis::parse_redis_value(&line).and_then(Value::extract_error);
    match refused {
        Err(error) => of_request(error),
        Ok(value) => unexpected_reply(format!("{value:?}")),
    }
}

/// The error of a server that may evict locks.
pub(crate) fn evicts() -> Error {
    let why = "the server may evict locks: set its maxmemory-policy to noeviction, or accept that with may_evict=true";
    Error::new(ErrorKind::InvalidConfig, why)
}

/// The error of a record whose key has a value of another type.
pub(crate) fn record_of_other_type(record_keys: &[String]) -> Error {
    let keys = record_keys.join(", ");
    let why = format!(
        "the key {keys}, of dlock's record, holds something else: delete that, or choose another prefix="
    );
    Error::new(ErrorKind::Unsupported, why)
}

/// The error of two independent servers that answer at one address.
pub(crate) fn two_servers() -> Error {
    let why = "two servers answer at this address, independent of each other (or the server's clock was \
               set); give each its own address, or use redis-sentinel:// or redis-cluster://";
    Error::new(ErrorKind::Unavailable, why)
}

/// The pub/sub connection leads to another server than the connection for requests.
pub(crate) fn other_server() -> Error {
    let why = "the pub/sub connection leads to another server than the requests; are there two servers \
               behind one address?";
    Error::new(ErrorKind::Unavailable, why)
}

/// A reply that the command cannot give.
pub(crate) fn unexpected_reply(what: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
    Error::new(ErrorKind::Internal, "the server sent an unexpected reply")
        .with_effect(Effect::Unknown)
        .with_source(what)
}

#[cfg(test)]
mod tests {
    use ErrorKind::{Denied, Internal, InvalidConfig, Unavailable, Unsupported};

    use super::*;

    fn are_of(lines: &[(&str, ErrorKind)], effect: Effect) {
        for (line, kind) in lines {
            let error = of_script(line.as_bytes());
            assert_eq!((error.kind(), error.effect()), (*kind, effect), "{line}");
        }
    }

    #[test]
    fn a_refusal_has_a_kind_and_no_effect() {
        let lines = [
            ("WRONGPASS invalid username-password pair", Denied),
            ("NOAUTH Authentication required.", Denied),
            ("NOPERM this user has no permissions to run 'get'", Denied),
            ("ERR User app has no permissions to run 'select'", Denied),
            ("WRONGTYPE Operation against a key", Unsupported),
            ("LOADING Redis is loading the dataset", Unavailable),
            ("READONLY You can't write against a replica", Unavailable),
            ("OOM command not allowed", Unavailable),
            ("MISCONF Redis is configured to save", Unavailable),
            ("BUSY Redis is busy running a script.", Unavailable),
            ("MOVED 3999 127.0.0.1:6381", Unavailable),
            ("CLUSTERDOWN The cluster is down", Unavailable),
            ("ERR max number of clients reached", Unavailable),
            ("ERR DB index is out of range", InvalidConfig),
        ];
        are_of(&lines, Effect::None);
    }

    #[test]
    fn a_script_that_failed_half_way_has_an_unknown_effect() {
        let lines = [
            ("UNBLOCKED force unblock, instance changed", Unavailable),
            ("ERR ACL failure in script: has no permissions", Denied),
            ("ERR The user executing the script can't run it", Denied),
            ("ERR something new", Internal),
        ];
        are_of(&lines, Effect::Unknown);
    }
}
