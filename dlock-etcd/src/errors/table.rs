//! The table of errors: kind, effect, whether to abandon the connection, and the hint.

use std::io;

use dlock_core::{Effect, ErrorKind};
use etcd_client::Error as DriverError;
use tonic::{Code, Status};

use crate::{config::EtcdConfig, errors::cause::find_cause};

/// The meaning of a driver's error.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) kind: ErrorKind,
    pub(super) effect: Effect,
    pub(super) ends_connection: bool,
    pub(super) hint: &'static str,
    /// Whether the connection failed, and neither the server nor the driver says why.
    pub(super) is_no_connection: bool,
}

impl Row {
    const fn new(
        kind: ErrorKind,
        effect: Effect,
        ends_connection: bool,
        hint: &'static str,
    ) -> Self {
        Self {
            kind,
            effect,
            ends_connection,
            hint,
            is_no_connection: false,
        }
    }

    /// A connection that failed.
    const fn no_connection(effect: Effect) -> Self {
        Self {
            is_no_connection: true,
            ..Self::new(
                ErrorKind::Unavailable,
                effect,
                true,
                "the connection failed",
            )
        }
    }
}

/// The row of a driver's error.
pub(super) fn row(error: &DriverError) -> Row {
    use ErrorKind::{Internal, InvalidConfig};
    #[cfg(feature = "tls")]
    if let Some((kind, hint)) = super::tls::of_certificate(error) {
        return Row::new(kind, Effect::None, true, hint);
    }
    if find_cause::<io::Error>(error)
        .is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused)
    {
        return Row::no_connection(Effect::None);
    }
    match error {
        DriverError::GRpcStatus(status) => of_status(status),
        DriverError::InvalidUri(_) | DriverError::InvalidArgs(_) => {
            let hint = "the driver refuses the settings";
            Row::new(InvalidConfig, Effect::None, false, hint)
        }
        DriverError::TransportError(_) => Row::no_connection(Effect::None),
        DriverError::IoError(_)
        | DriverError::WatchError(_)
        | DriverError::LeaseKeepAliveError(_) => Row::no_connection(Effect::Unknown),
        _ => Row::new(Internal, Effect::Unknown, true, "the driver failed"),
    }
}

/// The server's messages, which are the same in all its versions, and what they mean.
const TABLE: &[(&str, Row)] = &[
    (
        "invalid user ID or password",
        denied("wrong user or password"),
    ),
    (
        "user name is empty",
        denied("the server requires a user and a password; give them in the URL"),
    ),
    (
        "permission denied",
        denied("the user may not use these keys; grant one of its roles readwrite on the prefix"),
    ),
    (
        "authentication is not enabled",
        Row::new(
            ErrorKind::InvalidConfig,
            Effect::None,
            false,
            "the server has no logins; leave user and password out",
        ),
    ),
    ("invalid auth token", elsewhere("the login has expired")),
    (
        "revision of auth store is old",
        elsewhere("users were changed; the login is repeated"),
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
        Row::new(
            ErrorKind::Unavailable,
            Effect::Unknown,
            true,
            "the member knows no leader; is most of the cluster running, and reachable from it?",
        ),
    ),
];

const fn denied(hint: &'static str) -> Row {
    Row::new(ErrorKind::Denied, Effect::None, false, hint)
}

const fn elsewhere(hint: &'static str) -> Row {
    Row::new(ErrorKind::Unavailable, Effect::None, true, hint)
}

const fn refused(hint: &'static str) -> Row {
    Row::new(ErrorKind::Unavailable, Effect::None, false, hint)
}

fn of_status(status: &Status) -> Row {
    use ErrorKind::{Internal, Unavailable, Unsupported};
    let mut table = TABLE.iter();
    if let Some((_, row)) = table.find(|(words, _)| status.message().contains(words)) {
        return *row;
    }
    match status.code() {
        Code::Unimplemented => {
            let hint = "the server is not etcd 3.4 or newer";
            Row::new(Unsupported, Effect::None, false, hint)
        }
        // From the server itself: a change of leaders, a slow disk.
        Code::Unavailable | Code::DeadlineExceeded | Code::Unknown
            if status.message().starts_with("etcdserver") =>
        {
            Row::new(
                Unavailable,
                Effect::Unknown,
                true,
                "the cluster did not answer in time",
            )
        }
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Unknown => {
            Row::no_connection(Effect::Unknown)
        }
        // The server speaks another protocol, or another version of TLS.
        Code::Internal if status.message().starts_with("h2 protocol error") => {
            Row::no_connection(Effect::Unknown)
        }
        _ => Row::new(
            Internal,
            Effect::Unknown,
            false,
            "the server refused the request",
        ),
    }
}

/// Why the URL may be wrong if no connection was ever made.
pub(super) fn url_hint(config: &EtcdConfig) -> &'static str {
    match (config.has_tls(), config.has_certificate()) {
        (false, _) => "if that port speaks TLS, use etcds://",
        (true, true) => "if that port does not speak TLS, use etcd://",
        (true, false) => {
            "if that port does not speak TLS, use etcd://; if it wants a client certificate, give it by \
             tls_cert= and tls_key="
        }
    }
}
