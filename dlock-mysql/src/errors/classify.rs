//! Questions about an error, which decide what to do next.

use std::fmt;

use dlock_core::{Error, ErrorKind};

use crate::errors::codes::{
    CONNECTION_LIMITS, LOCK_NOWAIT, LOCK_WAIT_TIMEOUT, NO_COLUMN, NO_SAVEPOINT, NO_SESSION,
    NO_STATEMENT, NO_TABLE, NOT_PREPARABLE, READ_ONLY, SESSION_OVER, code, number,
};

/// Whether the session belongs to a former primary, or a proxy has moved it. Its statement had no effect.
pub(crate) fn is_session_moved(error: &Error) -> bool {
    let is_session_moved = error
        .get_ref()
        .is_some_and(|source| source.is::<SessionMoved>());
    is_session_moved || number(error) == Some(NO_STATEMENT) || is_read_only(error)
}

/// Whether the server refused a statement that may write, as a former primary does.
pub(crate) fn is_read_only(error: &Error) -> bool {
    number(error).is_some_and(|number| READ_ONLY.contains(&number))
}

/// Whether the same statement may succeed as text.
pub(crate) fn is_not_preparable(error: &Error) -> bool {
    number(error).is_some_and(|number| NOT_PREPARABLE.contains(&number))
}

/// Whether the server refused the statement, and the session goes on. Proxies that cannot prepare statements
/// send various errors.
pub(crate) fn is_statement_error(error: &Error) -> bool {
    number(error).is_some()
        && !is_contended(error)
        && !is_session_moved(error)
        && !is_session_over(error)
}

/// Whether another session has the row locked.
pub(crate) fn is_contended(error: &Error) -> bool {
    matches!(number(error), Some(LOCK_WAIT_TIMEOUT | LOCK_NOWAIT))
}

/// Whether the server, or the account, has no connection left.
pub(crate) fn is_connection_limit(error: &Error) -> bool {
    number(error).is_some_and(|number| CONNECTION_LIMITS.contains(&number))
}

/// Whether the tables are missing.
pub(crate) fn is_no_table(error: &Error) -> bool {
    number(error) == Some(NO_TABLE)
}

/// Whether a table lacks a column that this layout has.
pub(crate) fn is_no_column(error: &Error) -> bool {
    number(error) == Some(NO_COLUMN)
}

/// Whether the transaction of the savepoint is over.
pub(crate) fn is_no_savepoint(error: &Error) -> bool {
    number(error) == Some(NO_SAVEPOINT)
}

/// Whether the session to kill is over already.
pub(crate) fn is_no_session(error: &Error) -> bool {
    number(error) == Some(NO_SESSION)
}

/// Whether the session is over, and its row free.
pub(crate) fn is_session_over(error: &Error) -> bool {
    error
        .get_ref()
        .and_then(|source| source.downcast_ref())
        .is_some_and(is_connection_error)
}

/// Whether the connection has ended.
pub(crate) fn is_connection_error(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => true,
        _ => code(error).is_some_and(|number| SESSION_OVER.contains(&number)),
    }
}

/// Another server start counts the tokens now: the connection leads to a former primary, or is older.
#[derive(Debug)]
struct SessionMoved;

impl fmt::Display for SessionMoved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server was restarted, or is not the primary any more")
    }
}

impl std::error::Error for SessionMoved {}

/// The primary has changed.
pub(crate) fn session_moved() -> Error {
    Error::new(ErrorKind::Unavailable, "a new connection is needed").with_source(SessionMoved)
}
