//! The driver's error → kind, effect and what to do about it.

use dlock_core::{Effect, Error, ErrorKind};
use zookeeper_client::Error as ZkError;

/// The server has lost the majority of its ensemble, and refuses writes.
pub(crate) const READ_ONLY: &str =
    "the server is read-only: it cannot reach a majority of its ensemble";

/// The session of a request has ended, and its nodes with it.
pub(crate) fn session_ended() -> Error {
    of_request(ZkError::SessionExpired)
}

/// The failure of a request, with its kind, its effect and a hint.
pub(crate) fn of_request(error: ZkError) -> Error {
    let (kind, effect, hint) = table(&error);
    let failure = Error::new(kind, hint).with_effect(effect);
    match error {
        // The driver's text of these says no more than the hint.
        ZkError::Timeout | ZkError::ConnectionLoss | ZkError::SessionExpired => failure,
        error => failure.with_source(error),
    }
}

/// Whether the session has ended, and its nodes with it.
pub(crate) fn ends_session(error: &ZkError) -> bool {
    matches!(
        error,
        ZkError::SessionExpired | ZkError::AuthFailed | ZkError::ClientClosed
    )
}

/// Whether a retry may succeed, perhaps over another connection.
pub(crate) fn is_retryable(error: &ZkError) -> bool {
    table(error).0 == ErrorKind::Unavailable && !ends_session(error)
}

/// Whether the server may have executed the request although it failed (K9).
pub(crate) fn is_effect_unknown(error: &ZkError) -> bool {
    table(error).1 == Effect::Unknown
}

/// A failure inside the backend: of a request to the servers, or one that is already described.
pub(crate) enum Failure {
    /// The driver's error: a retry may help.
    Request(ZkError),
    /// An error for the caller.
    Final(Error),
}

impl Failure {
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Request(error) => of_request(error),
            Self::Final(error) => error,
        }
    }
}

impl From<ZkError> for Failure {
    fn from(error: ZkError) -> Self {
        Self::Request(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

fn table(error: &ZkError) -> (ErrorKind, Effect, &'static str) {
    use Effect::{None, Unknown};
    use ErrorKind::{Denied, Internal, InvalidConfig, Unavailable, Unsupported};
    match error {
        ZkError::Timeout => (Unavailable, Unknown, "no answer in time"),
        ZkError::ConnectionLoss => (Unavailable, Unknown, "the connection failed"),
        ZkError::SessionExpired => (Unavailable, Unknown, "the session is over"),
        ZkError::SessionMoved => (Unavailable, None, "the session is on another connection"),
        ZkError::ClientClosed => (Unavailable, None, "the session was closed"),
        ZkError::NoHosts => (Unavailable, None, "no server can be reached"),
        ZkError::NotReadOnly => (Unavailable, None, READ_ONLY),
        ZkError::NoNode => (
            Unavailable,
            None,
            "the lock's directory cannot be made, or is gone again at once; does the chroot still exist?",
        ),
        ZkError::Throttled => (Unavailable, None, "the server has too much to do"),
        ZkError::QuotaExceeded => (
            Unavailable,
            None,
            "the quota of the directory is used up; raise it, or choose another prefix=",
        ),
        ZkError::AuthFailed => (
            Denied,
            None,
            "the server refuses the login; check user and password in the URL",
        ),
        ZkError::NoAuth => (
            Denied,
            None,
            "no permission for the lock's directory; give the right user and password in the URL, \
             or extend its ACL",
        ),
        ZkError::InvalidAcl => (
            Denied,
            None,
            "the server does not know the login that the nodes are to belong to",
        ),
        ZkError::NoChildrenForEphemerals => (
            Unsupported,
            None,
            "an ephemeral node is at the path of the lock's directory; choose another prefix=",
        ),
        ZkError::Unimplemented => (Unsupported, None, "dlock needs ZooKeeper 3.6 or newer"),
        ZkError::BadArguments(_) => (InvalidConfig, None, "the driver refuses the settings"),
        ZkError::Custom(_) | ZkError::UnexpectedError(_) | ZkError::UnmarshalError { .. } => {
            (Unavailable, Unknown, "the connection failed")
        }
        _ => (Internal, None, "the server refused the request"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_happened_is_unknown() {
        for error in [ZkError::Timeout, ZkError::ConnectionLoss] {
            assert!(is_effect_unknown(&error) && is_retryable(&error), "{error}");
        }
        for error in [ZkError::NoAuth, ZkError::NoNode, ZkError::Throttled] {
            assert!(!is_effect_unknown(&error), "{error}");
        }
        assert!(!is_retryable(&ZkError::SessionExpired));
        assert!(ends_session(&ZkError::SessionExpired));
    }

    #[test]
    fn messages_are_one_line_and_say_what_to_do() {
        let denied = of_request(ZkError::NoAuth);
        assert_eq!(
            (denied.kind(), denied.effect()),
            (ErrorKind::Denied, Effect::None)
        );
        assert!(denied.to_string().contains("user and password"), "{denied}");
        assert_eq!(denied.to_string().lines().count(), 1);
    }
}
