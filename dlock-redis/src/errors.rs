//! The driver's error → kind, effect and what to do about it.

use dlock_core::{Effect, Error, ErrorKind};
use redis::RedisError;

/// What became of a request that failed with `error`.
pub(crate) fn of_request(error: RedisError) -> Error {
    let (kind, effect, hint) = table(&error);
    Error::new(kind, hint)
        .with_effect(effect)
        .with_source(error)
}

/// Why there is no connection: nothing was asked for.
pub(crate) fn of_connect(error: RedisError) -> Error {
    let (kind, _, hint) = table(&error);
    Error::new(kind, hint).with_source(error)
}

/// Whether the connection is no good any more.
pub(crate) fn ends_connection(error: &RedisError) -> bool {
    error.is_io_error() || error.is_connection_dropped() || error.is_unrecoverable_error()
}

/// The backend was closed.
pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Unavailable, "this backend is closed")
}

fn table(error: &RedisError) -> (ErrorKind, Effect, &'static str) {
    use ErrorKind::{Denied, Internal, Unavailable, Unsupported};
    let none = |kind, hint| (kind, Effect::None, hint);
    match error.code() {
        Some("WRONGPASS") => none(Denied, "wrong user or password"),
        Some("NOAUTH") => none(Denied, "the server asks for a password; give it in the URL"),
        Some("NOPERM") => none(Denied, "the user may not run this; extend its ACL"),
        Some("WRONGTYPE") => none(
            Unsupported,
            "the key of this lock holds something else; choose another prefix= or name",
        ),
        Some("LOADING") => none(Unavailable, "the server is starting; try again soon"),
        Some("READONLY") => none(Unavailable, "this is a replica; give the primary's address"),
        Some("OOM") => none(Unavailable, "the server is out of memory; raise maxmemory"),
        Some("MISCONF") => none(
            Unavailable,
            "the server cannot save to its disk and refuses writes",
        ),
        Some("BUSY") => none(Unavailable, "the server is busy with a script"),
        Some("MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" | "NOREPLICAS") => {
            none(Unavailable, "the server cannot write at present")
        }
        Some(_) if error.kind() == redis::ErrorKind::AuthenticationFailed => {
            none(Denied, "wrong user or password")
        }
        Some(_) => none(Internal, "the server refused the request"),
        None => of_driver(error),
    }
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
