//! Errors of the driver → kind, effect and hint.

use std::{io, time::Duration};

use dlock_core::{Effect, Error, ErrorKind};
use etcd_client::Error as DriverError;
use tonic::{Code, Status};

use crate::{
    config::EtcdConfig,
    errors::{
        cause::{find_cause, root_message},
        table::{row, url_hint},
    },
};

mod cause;
mod table;
#[cfg(test)]
mod tests;
#[cfg(feature = "tls")]
mod tls;

/// A failed request.
pub(crate) struct Failure {
    pub(crate) error: Error,
    /// Whether to abandon the connection: another member, or a new connection, may succeed.
    pub(crate) ends_connection: bool,
}

impl Failure {
    /// The failure with the address of the member.
    pub(crate) fn at(self, address: &str) -> Self {
        Self {
            error: self.error.at(address),
            ..self
        }
    }
}

/// The failure of a request with `error`.
pub(crate) fn of_request(error: DriverError, config: &EtcdConfig) -> Failure {
    let row = row(&error);
    let of_system = find_cause::<io::Error>(&error).filter(|_| row.is_no_connection);
    let failed = match of_system {
        Some(cause) => Error::unreachable(cause),
        None => Error::new(row.kind, row.hint).with_source(root_message(&error)),
    };
    let failed = failed.with_effect(row.effect);
    let was_refused =
        of_system.is_some_and(|cause| cause.kind() == io::ErrorKind::ConnectionRefused);
    Failure {
        error: match row.is_no_connection && !was_refused {
            true => failed.with_url_hint(url_hint(config)),
            false => failed,
        },
        ends_connection: row.ends_connection,
    }
}

/// The failure of a request without a reply in `max`.
pub(crate) fn timed_out(max: Duration) -> Failure {
    Failure {
        error: Error::no_answer(max).with_effect(Effect::Unknown),
        ends_connection: true,
    }
}

/// The lease of the attempt's key has ended.
pub(crate) fn lease_ended() -> Error {
    let why = "the etcd lease of the lock has ended in the store";
    Error::new(ErrorKind::Unavailable, why)
}

/// The acquire was not polled, and its queue key was removed.
pub(crate) fn unpolled() -> Error {
    let why = "the acquire was not polled for longer than its ttl, and its queue key was removed";
    Error::new(ErrorKind::Unavailable, why)
}

/// The store ended a stream of watches.
pub(crate) fn watch_ended() -> Error {
    Error::new(ErrorKind::Unavailable, "the stream of watches has ended")
}

/// A try to change the record of a migration had no reply, and the next one found another record than expected.
pub(crate) fn may_be_written() -> Error {
    let why = "a try to change the record of a migration had no reply; read the record";
    Error::new(ErrorKind::Unavailable, why).with_effect(Effect::Unknown)
}

/// A reply that etcd never gives.
pub(crate) fn unexpected_reply(what: &'static str) -> Error {
    let why = format!("unexpected reply of the server: {what}");
    Error::new(ErrorKind::Internal, why).with_effect(Effect::Unknown)
}

/// Whether the store has no such lease.
pub(crate) fn is_lease_gone(error: &DriverError) -> bool {
    match error {
        // The driver's message for a reply whose ttl is not positive.
        DriverError::LeaseKeepAliveError(why) => why == "lease not found",
        // By the message: the gRPC proxy gives other codes.
        DriverError::GRpcStatus(status) => status.message().contains("lease not found"),
        _ => false,
    }
}

/// Whether the store has a lease with that id already.
pub(crate) fn is_lease_taken(error: &DriverError) -> bool {
    matches!(error, DriverError::GRpcStatus(status)
        if status.message().contains("lease already exists"))
}

/// Whether the store refuses writes that take space.
pub(crate) fn is_full(error: &DriverError) -> bool {
    matches!(error, DriverError::GRpcStatus(status)
        if status.message().contains("database space exceeded"))
}

/// Whether the store refuses a batch because of one operation in it.
pub(crate) fn is_refusal_of_one(error: &DriverError) -> bool {
    let is_of_request = |status: &Status| {
        matches!(
            status.code(),
            Code::PermissionDenied | Code::InvalidArgument
        ) || status.message().contains("permission denied")
    };
    is_lease_gone(error)
        || is_full(error)
        || matches!(error, DriverError::GRpcStatus(status) if is_of_request(status))
}

/// A lease of another backend.
pub(crate) fn foreign_lease() -> Error {
    Error::new(ErrorKind::Internal, "a lease of another backend")
}
