//! The driver's error → kind, effect and what to do about it.

use std::{error::Error as StdError, io, sync::Arc, time::Duration};

use dlock_core::{Effect, Error, ErrorKind, config::TlsFiles};
use redis::RedisError;

use crate::dial::Address;

/// The server has not read its data yet.
pub(crate) const LOADING: &str = "the server is starting; try again soon";

/// The server follows another one.
pub(crate) const REPLICA: &str = "this is a replica, which forgets; give the primary's address";

/// The address of one server was given to `redis-cluster:`.
pub(crate) const NO_CLUSTER: &str = "that server is not in a Cluster; use redis://";

/// The address of a node was given to `redis:`.
pub(crate) const IS_CLUSTER: &str = "that server is a node of a Cluster; use redis-cluster://";

/// The address of a Sentinel was given to `redis:`.
pub(crate) const IS_SENTINEL: &str =
    "that is a Sentinel; use redis-sentinel://…/NAME, with the name of what it watches";

/// It is about to get its first ones.
pub(crate) const NO_SLOTS: &str = "this node of the Cluster has no slots yet";

/// A restart could not be told.
pub(crate) const NO_RUN: &str =
    "the server's INFO has no run_id, by which a restart is seen; restart_guard=0s does without";

/// What is done about it is no matter of this request.
const FORGOTTEN: &str = "the server's data is not what it was before; it is looked at anew";

/// The ACL of the user is too narrow.
const NOT_ALLOWED: &str = "the user may not run this; extend its ACL";

/// What became of a request that failed with `error`.
pub(crate) fn of_request(error: RedisError) -> Error {
    let (kind, effect, hint) = table(&error);
    Error::new(kind, hint)
        .with_effect(effect)
        .with_source(error)
}

/// Why there is no connection: nothing was asked for.
pub(crate) fn of_connect(error: RedisError, has_tls: bool) -> Error {
    let (kind, _, hint) = table(&error);
    let (kind, hint) = tls_error(&error).and_then(of_tls).unwrap_or((kind, hint));
    // A port that expects the other way of speaking closes the connection, says what makes no sense,
    // or waits for more.
    let is_parse = error.kind() == redis::ErrorKind::Parse;
    let is_strange = is_parse || is_cut(&error) || error.is_timeout();
    let is_strange = is_strange || tls_error(&error).is_some();
    let is_strange = is_strange && !error.is_connection_refusal();
    let hint = match kind {
        ErrorKind::Unavailable if is_strange => format!("{hint}; {}", other_scheme(has_tls)).into(),
        _ => std::borrow::Cow::from(hint),
    };
    Error::new(kind, hint).with_source(error)
}

/// Why a Sentinel does not tell where the primary is.
pub(crate) fn of_sentinel(error: RedisError, has_tls: bool) -> Error {
    if error.code() == Some("ERR") {
        let why = "that is no Sentinel; use redis:// or redis-cluster://";
        return Error::new(ErrorKind::InvalidConfig, why).with_source(error);
    }
    of_connect(error, has_tls)
}

/// Why a node does not tell who has which keys.
pub(crate) fn of_slots(error: RedisError, has_tls: bool) -> Error {
    if error.code() == Some("ERR") {
        return Error::new(ErrorKind::InvalidConfig, NO_CLUSTER).with_source(error);
    }
    of_connect(error, has_tls)
}

/// The server took longer than `max`.
pub(crate) fn silent(max: Duration, has_tls: bool) -> Error {
    let scheme = other_scheme(has_tls);
    let why = format!("no answer in {max:?} while connecting; {scheme}");
    Error::new(ErrorKind::Unavailable, why)
}

fn other_scheme(has_tls: bool) -> &'static str {
    if has_tls {
        "if that port does not speak TLS, the URL begins with redis instead of rediss"
    } else {
        "if that port speaks TLS, the URL begins with rediss instead of redis"
    }
}

/// What a script says about one name of many, as the server says it.
pub(crate) fn of_script(line: &[u8]) -> Error {
    let line = [b"-", line.strip_prefix(b"-").unwrap_or(line), b"\r\n"].concat();
    let refused = redis::parse_redis_value(&line).and_then(redis::Value::extract_error);
    match refused {
        Err(error) => of_request(error),
        Ok(value) => crate::wire::nonsense(format!("{value:?}")),
    }
}

/// Another node of a Cluster is to be asked.
pub(crate) struct Redirect {
    pub(crate) slot: u16,
    pub(crate) to: Address,
    /// This once: the keys of the slot are on their way to it.
    pub(crate) once: bool,
}

/// Where the error sends the request. Nothing was done.
pub(crate) fn redirect(error: &Error) -> Option<Redirect> {
    let error: &RedisError = error.get_ref()?.downcast_ref()?;
    let (address, slot) = error.redirect_node()?;
    let (host, port) = address.rsplit_once(':')?;
    Some(Redirect {
        slot,
        to: (host.to_owned(), port.parse().ok()?),
        once: error.code() == Some("ASK"),
    })
}

/// Whether the connection is no good any more. One to a server that has become a replica, or has forgotten
/// its data, is not: it has to be looked at again.
pub(crate) fn ends_connection(error: &RedisError) -> bool {
    is_cut(error)
        || error.is_io_error()
        || matches!(error.code(), Some("READONLY" | "UNBLOCKED" | "FORGOTTEN"))
}

/// Whether the server follows another one.
pub(crate) fn is_replica(error: &Error) -> bool {
    let error = error.get_ref().and_then(|source| source.downcast_ref());
    error.is_some_and(|error: &RedisError| error.code() == Some("READONLY"))
}

/// Whether the connection has ended, as opposed to an answer that takes too long.
pub(crate) fn is_cut(error: &RedisError) -> bool {
    (error.is_connection_dropped() || error.is_unrecoverable_error()) && !error.is_timeout()
}

/// Whether the connection itself has failed, as opposed to an answer that refuses.
pub(crate) fn is_lost(error: &Error) -> bool {
    let error = error.get_ref().and_then(|source| source.downcast_ref());
    error.is_some_and(|error: &RedisError| ends_connection(error))
}

/// Whether our script found that the data is not what this client has seen; it did nothing then.
pub(crate) fn has_forgotten(error: &RedisError) -> bool {
    error.code() == Some("FORGOTTEN")
}

/// Two servers that know nothing of each other.
pub(crate) fn two_servers() -> Error {
    let why = "two servers answer at this address, and neither knows the other's locks (or the server's clock was \
               set); give one address for each, or use redis-sentinel:// or redis-cluster://";
    Error::new(ErrorKind::Unavailable, why)
}

/// The connection for wake-ups leads elsewhere than that for requests.
pub(crate) fn other_server() -> Error {
    let why = "releases would be heard of from another server than the one that is asked; are there two \
               behind one address?";
    Error::new(ErrorKind::Unavailable, why)
}

fn table(error: &RedisError) -> (ErrorKind, Effect, &'static str) {
    use ErrorKind::{Denied, Internal, InvalidConfig, Unavailable, Unsupported};
    let none = |kind, hint| (kind, Effect::None, hint);
    match error.code() {
        Some("WRONGPASS") => none(Denied, "wrong user or password"),
        Some("NOAUTH") => none(Denied, "the server asks for a password; give it in the URL"),
        Some("NOPERM") => none(Denied, NOT_ALLOWED),
        Some("WRONGTYPE") => none(
            Unsupported,
            "the key of this lock holds something else; choose another prefix= or name",
        ),
        Some("LOADING") => none(Unavailable, LOADING),
        Some("READONLY") => none(Unavailable, REPLICA),
        Some("OOM") => none(Unavailable, "the server is out of memory; raise maxmemory"),
        Some("MISCONF") => none(
            Unavailable,
            "the server cannot save to its disk and refuses writes",
        ),
        Some("BUSY") => none(Unavailable, "the server is busy with a script"),
        Some("MOVED" | "ASK") => none(Unavailable, "another node has the key now"),
        Some("MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" | "NOREPLICAS") => {
            none(Unavailable, "the server cannot write at present")
        }
        Some(_) if error.kind() == redis::ErrorKind::AuthenticationFailed => {
            none(Denied, "wrong user or password")
        }
        Some(_) if error.to_string().contains("DB index is out of range") => {
            none(InvalidConfig, "the server has no database of that number")
        }
        Some("FORGOTTEN") => none(Unavailable, FORGOTTEN),
        Some("UNBLOCKED") => (Unavailable, Effect::Unknown, REPLICA),
        Some(_) if error.to_string().contains("max number of clients") => none(
            Unavailable,
            "the server has too many clients; raise maxclients",
        ),
        Some(_) if is_acl_failure_in_script(error) => (Denied, Effect::Unknown, NOT_ALLOWED),
        // The driver says nothing but this of a user who may not choose the database.
        Some(_) if error.to_string().contains("has no permissions") => none(Denied, NOT_ALLOWED),
        // A script that failed half-way may have done something.
        Some(_) => (Internal, Effect::Unknown, "the server refused the request"),
        None => of_driver(error),
    }
}

/// Servers of different ages say it in different words.
fn is_acl_failure_in_script(error: &RedisError) -> bool {
    let line = error.to_string();
    let says = |words| line.contains(words);
    says("ACL failure in script") || says("The user executing the script can't")
}

/// What the driver says by itself.
fn of_driver(error: &RedisError) -> (ErrorKind, Effect, &'static str) {
    use ErrorKind::{Denied, InvalidConfig, Unavailable};
    if error.is_connection_refusal() {
        let hint = "nothing listens there; is the server running, and the port right?";
        return (Unavailable, Effect::None, hint);
    }
    if error.is_timeout() {
        return (Unavailable, Effect::Unknown, "no answer in time");
    }
    match error.kind() {
        redis::ErrorKind::AuthenticationFailed => (Denied, Effect::None, "wrong user or password"),
        redis::ErrorKind::InvalidClientConfig => (
            InvalidConfig,
            Effect::None,
            "the driver refuses the settings",
        ),
        redis::ErrorKind::Parse => (
            Unavailable,
            Effect::Unknown,
            "what answers there does not speak Redis's protocol",
        ),
        _ => (Unavailable, Effect::Unknown, "the connection failed"),
    }
}

/// What the two sides did not agree on, if it is about a certificate.
fn of_tls(error: &rustls::Error) -> Option<(ErrorKind, &'static str)> {
    match error {
        rustls::Error::InvalidCertificate(_) => Some(TlsFiles::UNTRUSTED),
        rustls::Error::AlertReceived(alert) => TlsFiles::of_alert(u8::from(*alert)),
        _ => None,
    }
}

/// The error of the TLS library inside the driver's.
fn tls_error(error: &RedisError) -> Option<&rustls::Error> {
    let shared: &Arc<dyn StdError + Send + Sync> = error.source()?.downcast_ref()?;
    shared
        .downcast_ref::<io::Error>()?
        .get_ref()?
        .downcast_ref()
}

#[cfg(test)]
mod tests {
    use ErrorKind::{Denied, Internal, InvalidConfig, Unavailable, Unsupported};

    use super::*;

    fn says(lines: &[(&str, ErrorKind)], effect: Effect) {
        for (line, kind) in lines {
            let error = of_script(line.as_bytes());
            assert_eq!((error.kind(), error.effect()), (*kind, effect), "{line}");
        }
    }

    #[test]
    fn what_the_server_refuses_has_a_kind_and_no_effect() {
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
        says(&lines, Effect::None);
    }

    #[test]
    fn what_a_script_was_in_the_midst_of_may_have_happened() {
        let lines = [
            ("UNBLOCKED force unblock, instance changed", Unavailable),
            ("ERR ACL failure in script: has no permissions", Denied),
            ("ERR The user executing the script can't run it", Denied),
            ("ERR something new", Internal),
        ];
        says(&lines, Effect::Unknown);
    }
}
