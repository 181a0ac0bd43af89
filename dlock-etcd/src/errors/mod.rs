//! The driver's error → kind, effect and what to do about it.

use std::{error::Error as StdError, io, time::Duration};

use dlock_core::{Effect, Error, ErrorKind, config::TlsFiles};
use etcd_client::Error as DriverError;
use tonic::{Code, Status};

use crate::config::EtcdConfig;

/// What became of a request.
pub(crate) struct Failure {
    pub(crate) error: Error,
    /// Another member, or a new connection, may answer better.
    pub(crate) ends_link: bool,
}

/// Kind, effect, whether to ask elsewhere, and what to do.
type Row = (ErrorKind, Effect, bool, &'static str);

/// What became of a request that failed with `error`.
pub(crate) fn of_request(error: DriverError, config: &EtcdConfig) -> Failure {
    let (kind, effect, ends_link, hint) = row(&error, config);
    Failure {
        error: Error::new(kind, hint)
            .with_effect(effect)
            .with_source(one_line(&error)),
        ends_link,
    }
}

/// A member that did not answer.
pub(crate) fn silent(max: Duration) -> Failure {
    let why = format!("no answer in {max:?}; is the member running, and reachable?");
    Failure {
        error: Error::new(ErrorKind::Unavailable, why).with_effect(Effect::Unknown),
        ends_link: true,
    }
}

/// The backend was closed.
pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Unavailable, "this backend is closed")
}

/// The lease that was to carry the lock has ended.
pub(crate) fn lease_ended() -> Error {
    let why = "the lease that carries it has ended in the store";
    Error::new(ErrorKind::Unavailable, why)
}

/// Nobody polled the acquire, and its place was taken away.
pub(crate) fn unpolled() -> Error {
    let why = "it was not polled for longer than its ttl, and its place was given up";
    Error::new(ErrorKind::Unavailable, why)
}

/// The store ended a stream of watches.
pub(crate) fn watch_ended() -> Error {
    Error::new(ErrorKind::Unavailable, "the stream of watches has ended")
}

/// An answer that this driver's server never gives.
pub(crate) fn nonsense(what: &'static str) -> Error {
    let why = format!("the server's answer makes no sense: {what}");
    Error::new(ErrorKind::Internal, why).with_effect(Effect::Unknown)
}

/// Whether the store has no such lease.
pub(crate) fn is_lease_gone(error: &DriverError) -> bool {
    match error {
        // T22: the driver's words for an answer whose ttl is not positive.
        DriverError::LeaseKeepAliveError(why) => why == "lease not found",
        // By its words: the gRPC proxy gives other codes.
        DriverError::GRpcStatus(status) => status.message().contains("lease not found"),
        _ => false,
    }
}

/// Whether the store has a lease with that identity already.
pub(crate) fn is_lease_taken(error: &DriverError) -> bool {
    matches!(error, DriverError::GRpcStatus(status)
        if status.message().contains("lease already exists"))
}

/// Whether the store refuses what takes space.
pub(crate) fn is_full(error: &DriverError) -> bool {
    matches!(error, DriverError::GRpcStatus(status)
        if status.message().contains("database space exceeded"))
}

/// Whether the store refuses one of many that were asked for together, and so all.
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

fn row(error: &DriverError, config: &EtcdConfig) -> Row {
    use ErrorKind::{Internal, InvalidConfig, Unavailable};
    if let Some(found) = inside::<rustls::Error>(error)
        && let Some((kind, hint)) = of_tls(found)
    {
        return (kind, Effect::None, true, hint);
    }
    if inside::<io::Error>(error).is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused) {
        let hint = "nothing listens there; is the server running, and the port right?";
        return (Unavailable, Effect::None, true, hint);
    }
    match error {
        DriverError::GRpcStatus(status) => of_status(status, config),
        DriverError::InvalidUri(_) | DriverError::InvalidArgs(_) => {
            let hint = "the driver refuses the settings";
            (InvalidConfig, Effect::None, false, hint)
        }
        DriverError::TransportError(_) => (Unavailable, Effect::None, true, no_connection(config)),
        DriverError::IoError(_)
        | DriverError::WatchError(_)
        | DriverError::LeaseKeepAliveError(_) => {
            (Unavailable, Effect::Unknown, true, "the connection failed")
        }
        _ => (Internal, Effect::Unknown, true, "the driver failed"),
    }
}

/// What the server says, which is the same in all its versions, and what it means.
const TABLE: &[(&str, Row)] = &[
    (
        "invalid user ID or password",
        denied("wrong user or password"),
    ),
    (
        "user name is empty",
        denied("the server asks for a user and a password; give them in the URL"),
    ),
    (
        "permission denied",
        denied("the user may not use these keys; grant one of its roles readwrite on the prefix"),
    ),
    (
        "authentication is not enabled",
        (
            ErrorKind::InvalidConfig,
            Effect::None,
            false,
            "the server has no logins; leave user and password out",
        ),
    ),
    ("invalid auth token", elsewhere("the login has expired")),
    (
        "revision of auth store is old",
        elsewhere("users were changed; the login is made anew"),
    ),
    (
        "corrupt",
        elsewhere("the member's data are corrupt; replace it"),
    ),
    (
        "database space exceeded",
        refused(
            "the server has no space left; compact and defragment it, then etcdctl alarm disarm",
        ),
    ),
    (
        "too many requests",
        refused("the server is overloaded; try again later"),
    ),
    (
        "no leader",
        (
            ErrorKind::Unavailable,
            Effect::Unknown,
            true,
            "the member knows no leader; is most of the cluster running, and reachable from it?",
        ),
    ),
];

const fn denied(hint: &'static str) -> Row {
    (ErrorKind::Denied, Effect::None, false, hint)
}

const fn elsewhere(hint: &'static str) -> Row {
    (ErrorKind::Unavailable, Effect::None, true, hint)
}

const fn refused(hint: &'static str) -> Row {
    (ErrorKind::Unavailable, Effect::None, false, hint)
}

fn of_status(status: &Status, config: &EtcdConfig) -> Row {
    use ErrorKind::{Internal, Unavailable, Unsupported};
    let mut table = TABLE.iter();
    if let Some((_, row)) = table.find(|(words, _)| status.message().contains(words)) {
        return *row;
    }
    match status.code() {
        Code::Unimplemented => {
            let hint = "what answers there is no etcd of version 3.4 or newer";
            (Unsupported, Effect::None, false, hint)
        }
        // From the server itself: a change of leaders, a slow disk.
        Code::Unavailable | Code::DeadlineExceeded | Code::Unknown
            if status.message().starts_with("etcdserver") =>
        {
            (
                Unavailable,
                Effect::Unknown,
                true,
                "the cluster did not answer in time",
            )
        }
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Unknown => {
            (Unavailable, Effect::Unknown, true, no_connection(config))
        }
        // The two sides do not speak the same protocol.
        Code::Internal if status.message().starts_with("h2 protocol error") => {
            (Unavailable, Effect::Unknown, true, no_connection(config))
        }
        _ => (
            Internal,
            Effect::Unknown,
            false,
            "the server refused the request",
        ),
    }
}

/// Neither the server nor the driver says what it is that they do not agree on.
fn no_connection(config: &EtcdConfig) -> &'static str {
    match (config.has_tls(), config.has_certificate()) {
        (false, _) => "the connection failed; if that port speaks TLS, use etcds://",
        (true, true) => "the connection failed; if that port does not speak TLS, use etcd://",
        (true, false) => {
            "the connection failed; if that port does not speak TLS, use etcd://; if it wants a \
             client's certificate, give it by tls_cert= and tls_key="
        }
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

/// The error of a layer below, if there is one of that type.
fn inside<E: StdError + 'static>(error: &DriverError) -> Option<&E> {
    chain(error).find_map(|cause| {
        // An input/output error has what it wraps inside, not as its source.
        let wrapped = cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        let wrapped =
            wrapped.and_then(|wrapped| (wrapped as &(dyn StdError + 'static)).downcast_ref());
        cause.downcast_ref().or(wrapped)
    })
}

/// The error with all that caused it: the driver's own type names none.
fn chain<'a>(error: &'a DriverError) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    let first: &'a (dyn StdError + 'static) = match error {
        DriverError::GRpcStatus(status) => status,
        DriverError::TransportError(transport) => transport,
        DriverError::IoError(io) => io,
        other => other,
    };
    let below = |cause: &&'a (dyn StdError + 'static)| (*cause).source();
    std::iter::successors(Some(first), below)
}

/// What happened, in the words of the server or of the lowest layer.
fn one_line(error: &DriverError) -> String {
    match error {
        DriverError::GRpcStatus(status) if status.source().is_none() => status.message().to_owned(),
        other => chain(other)
            .last()
            .map(ToString::to_string)
            .unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
