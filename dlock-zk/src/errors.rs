//! The driver's error → kind, effect and what to do about it.

use dlock_core::{Effect, Error, ErrorKind};
use zookeeper_client::Error as ZkError;

/// Nobody may write: the servers that are left have no majority.
pub(crate) const READ_ONLY: &str =
    "the server is read-only: it cannot reach a majority of its ensemble";

/// What became of a request that failed with `error`.
pub(crate) fn of_request(error: ZkError) -> Error {
    let (kind, effect, hint) = table(&error);
    let told = Error::new(kind, hint).with_effect(effect);
    match error {
        // These say no more than the hint does.
        ZkError::Timeout | ZkError::ConnectionLoss | ZkError::SessionExpired => told,
        error => told.with_source(error),
    }
}

/// Whether the session has ended, and its nodes with it.
pub(crate) fn ends_session(error: &ZkError) -> bool {
    matches!(
        error,
        ZkError::SessionExpired | ZkError::AuthFailed | ZkError::ClientClosed
    )
}

/// Whether asking again, perhaps over another connection, may help.
pub(crate) fn is_transient(error: &ZkError) -> bool {
    table(error).0 == ErrorKind::Unavailable && !ends_session(error)
}

/// Whether the request may have been done though it failed.
pub(crate) fn is_ambiguous(error: &ZkError) -> bool {
    table(error).1 == Effect::Unknown
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
            "the server refuses the login; look at user and password in the URL",
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
            "the place of the lock's directory has an ephemeral node; choose another prefix=",
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
            assert!(is_ambiguous(&error) && is_transient(&error), "{error}");
        }
        for error in [ZkError::NoAuth, ZkError::NoNode, ZkError::Throttled] {
            assert!(!is_ambiguous(&error), "{error}");
        }
        assert!(!is_transient(&ZkError::SessionExpired));
        assert!(ends_session(&ZkError::SessionExpired));
    }

    #[test]
    fn messages_are_one_line_and_say_what_to_do() {
        let told = of_request(ZkError::NoAuth);
        assert_eq!(
            (told.kind(), told.effect()),
            (ErrorKind::Denied, Effect::None)
        );
        assert!(told.to_string().contains("user and password"), "{told}");
        assert_eq!(told.to_string().lines().count(), 1);
    }
}
