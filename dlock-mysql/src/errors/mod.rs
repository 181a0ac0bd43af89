//! Errors of the server and the driver.

use std::{fmt, time::Duration};

use dlock_core::{Effect, Error, ErrorKind, Result};
use tokio::task::JoinError;

mod classify;
mod codes;
mod table;
mod table_lock;
#[cfg(feature = "tls")]
mod tls;

pub(crate) use self::{
    classify::{
        is_connection_error, is_connection_limit, is_contended, is_no_column, is_no_savepoint,
        is_no_session, is_no_table, is_not_preparable, is_read_only, is_session_moved,
        is_session_over, is_statement_error, session_moved,
    },
    table_lock::{is_table_locked, of_table_statement, table_lock, unknown_table_lock},
};

/// The error of a statement.
pub(crate) fn of_request(error: sqlx::Error) -> Error {
    let (kind, effect, hint) = table::table(&error);
    Error::new(kind, hint)
        .with_effect(effect)
        .with_source(error)
}

/// The error of a connection attempt, which has no effect.
pub(crate) fn of_connect(error: sqlx::Error) -> Error {
    let (kind, _, hint) = table::table(&error);
    let unreachable = match &error {
        sqlx::Error::Io(cause) if kind == ErrorKind::Unavailable && hint != table::NO_SOCKET => {
            Error::unreachable(cause)
        }
        _ => return of_request(error).with_effect(Effect::None),
    };
    unreachable.with_quoted_source(error)
}

/// Connecting took longer than `max`.
pub(crate) fn connect_timed_out(max: Duration) -> Error {
    Error::no_answer(max).with_url_hint("a server of MySQL speaks first; is that its port?")
}

/// The server did not reply within `max`.
pub(crate) fn request_timed_out(max: Duration) -> Error {
    let why = format!("no answer in {max:?}");
    Error::new(ErrorKind::Unavailable, why).with_effect(Effect::Unknown)
}

/// The connection is gone.
pub(crate) fn connection_lost() -> Error {
    Error::new(ErrorKind::Unavailable, "the connection was lost")
}

/// A task ended before its time: its runtime has ended, or it panicked.
pub(crate) fn task_failed<T>(error: JoinError) -> Result<T> {
    let why = "the work was given up";
    let error = Error::new(ErrorKind::Unavailable, why).with_source(error);
    Err(error.with_effect(Effect::Unknown))
}

/// The server follows another one.
pub(crate) fn read_only() -> Error {
    let why = "the server is read-only, which a replica is; give the primary's address";
    Error::new(ErrorKind::Unavailable, why)
}

/// The server was started or promoted so recently that older locks may still be held.
pub(crate) fn restart_guard_active(left: Duration, longest: Duration) -> Error {
    let (left, longest) = (left.as_secs() + 1, longest.as_secs());
    let why = format!(
        "the server was started or promoted a moment ago, and holders of before may not have heard of it; \
         it grants nothing for {left} s more, as the longest ttl in use is {longest} s (see restart_guard=)"
    );
    Error::new(ErrorKind::Unavailable, why)
}

/// The server did not say when it was started.
pub(crate) fn no_server_info() -> Error {
    let why = "the server does not say when it was started; its UUID_SHORT() cannot be used";
    Error::new(ErrorKind::Unsupported, why)
}

/// A reply that this crate does not expect.
pub(crate) fn unexpected_reply(reply: fmt::Arguments<'_>) -> Error {
    let why = format!("the server's answer makes no sense: {reply}");
    Error::new(ErrorKind::Internal, why)
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_cut_connection_ends_the_session_and_a_refusal_does_not() {
        let cut = io::Error::from(io::ErrorKind::UnexpectedEof);
        assert!(is_session_over(&of_request(cut.into())));
        assert!(!is_session_over(&of_request(sqlx::Error::RowNotFound)));
        assert!(!is_session_over(&request_timed_out(Duration::from_secs(2))));
    }

    #[test]
    fn a_change_of_the_primary_is_known_by_its_error() {
        assert!(is_session_moved(&session_moved()));
        assert!(!is_session_moved(&read_only()));
    }
}
