//! Classification of errors: what each says about the connection and the server behind it.

use dlock_core::Error;
use redis::RedisError;

/// A redirection to another node of a Cluster.
pub(crate) struct Redirect {
    pub(crate) slot: u16,
    /// The host and the port of that node.
    pub(crate) to: (String, u16),
    pub(crate) scope: RedirectScope,
}

/// The scope of a redirection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedirectScope {
    /// A redirection of all keys of the slot: it has moved.
    Slot,
    /// A redirection of this request: the keys of the slot are moving.
    Request,
}

/// The redirection in an error, if it is one. The request had no effect.
pub(crate) fn redirect(error: &Error) -> Option<Redirect> {
    let error = driver_error(error)?;
    let (address, slot) = error.redirect_node()?;
    let (host, port) = address.rsplit_once(':')?;
    Some(Redirect {
        slot,
        to: (host.to_owned(), port.parse().ok()?),
        scope: match error.code() {
            Some("ASK") => RedirectScope::Request,
            _ => RedirectScope::Slot,
        },
    })
}

/// Whether the connection must be replaced. That includes one to a server that has become a replica or has
/// lost its data: the server has to be probed again.
pub(crate) fn ends_connection(error: &RedisError) -> bool {
    is_cut(error)
        || error.is_io_error()
        || matches!(error.code(), Some("READONLY" | "UNBLOCKED" | "FORGOTTEN"))
}

/// Whether the connection has ended, as opposed to a reply that is late.
pub(crate) fn is_cut(error: &RedisError) -> bool {
    (error.is_connection_dropped() || error.is_unrecoverable_error()) && !error.is_timeout()
}

/// Whether a script found other data than this client knows. It had no effect.
pub(crate) fn is_forgotten(error: &RedisError) -> bool {
    error.code() == Some("FORGOTTEN")
}

/// Whether the server is a replica.
pub(crate) fn is_replica(error: &Error) -> bool {
    driver_error(error).is_some_and(|error| error.code() == Some("READONLY"))
}

/// Whether the connection has failed, as opposed to a reply that refuses.
pub(crate) fn is_connection_failure(error: &Error) -> bool {
    driver_error(error).is_some_and(ends_connection)
}

fn driver_error(error: &Error) -> Option<&RedisError> {
    error.get_ref()?.downcast_ref()
}
