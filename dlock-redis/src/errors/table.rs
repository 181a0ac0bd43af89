//! The driver's error → kind, effect and hint: one table.

use dlock_core::{Effect, ErrorKind};
use redis::RedisError;

/// The server has not loaded its data yet.
pub(crate) const LOADING: &str = "the server is starting; try again soon";

/// The server is a replica.
pub(crate) const REPLICA: &str = "connected to a replica; use the primary's address";

/// A script found other data than those that this client knows; the data are probed again.
const FORGOTTEN: &str = "the server's data changed and may lack locks; they are probed again";

/// The ACL of the user is too narrow.
const NOT_ALLOWED: &str = "the user may not run this; extend its ACL";

/// The kind, the effect and the hint of a failed request.
pub(super) fn of_reply(error: &RedisError) -> (ErrorKind, Effect, &'static str) {
    use ErrorKind::{Denied, Internal, InvalidConfig, Unavailable, Unsupported};
    let none = |kind, hint| (kind, Effect::None, hint);
    match error.code() {
        Some("WRONGPASS") => none(Denied, "wrong user or password"),
        Some("NOAUTH") => none(Denied, "the server requires a password; give it in the URL"),
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
        // The driver reports only this for a user without permission to select the database.
        Some(_) if error.to_string().contains("has no permissions") => none(Denied, NOT_ALLOWED),
        // A script that failed half-way may have had an effect.
        Some(_) => (Internal, Effect::Unknown, "the server refused the request"),
        None => of_driver(error),
    }
}

/// Whether a command in a script was not allowed; the wording differs between releases of the servers.
fn is_acl_failure_in_script(error: &RedisError) -> bool {
    let line = error.to_string();
    line.contains("ACL failure in script") || line.contains("The user executing the script can't")
}

/// The kind, the effect and the hint of an error that the driver made.
fn of_driver(error: &RedisError) -> (ErrorKind, Effect, &'static str) {
    use ErrorKind::{Denied, InvalidConfig, Unavailable};
    if error.is_connection_refusal() {
        let hint = "connection refused; is the server running, and is the port right?";
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
            "the server does not speak Redis's protocol",
        ),
        _ => (Unavailable, Effect::Unknown, "the connection failed"),
    }
}
