//! Numbers of the server's errors.

use dlock_core::Error;
use sqlx::mysql::MySqlDatabaseError;

/// A lock wait timed out; in MariaDB also a locked row without a wait.
pub(crate) const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// A locked row with `NOWAIT` in MySQL.
pub(crate) const LOCK_NOWAIT: u16 = 3572;

/// The table does not exist.
pub(crate) const NO_TABLE: u16 = 1146;

/// The column does not exist.
pub(crate) const NO_COLUMN: u16 = 1054;

/// The server or the transaction is read-only.
pub(crate) const READ_ONLY: [u16; 3] = [1290, 1792, 1836];

/// The transaction has no such savepoint; also the number of a function that is missing.
pub(crate) const NO_SAVEPOINT: u16 = 1305;

/// `KILL` of a session that is over.
pub(crate) const NO_SESSION: u16 = 1094;

/// Unknown prepared statement: a proxy has moved the session to another connection.
pub(crate) const NO_STATEMENT: u16 = 1243;

/// The statement cannot be prepared: the server has too many or too little memory, or is a proxy.
pub(crate) const NOT_PREPARABLE: [u16; 3] = [1295, 1461, 1615];

/// No connection is left: of the server, or of the account.
pub(crate) const CONNECTION_LIMITS: [u16; 3] = [1040, 1203, 1226];

/// The session is over: a shutdown, `KILL` as MariaDB says it, gone, lost, silent for too long.
pub(crate) const SESSION_OVER: [u16; 5] = [1053, 1927, 2006, 2013, 4031];

/// The number of an error that the server sent.
pub(crate) fn number(error: &Error) -> Option<u16> {
    code(error.get_ref()?.downcast_ref()?)
}

/// The number of an error of the driver that the server sent.
pub(crate) fn code(error: &sqlx::Error) -> Option<u16> {
    let error = error.as_database_error()?;
    Some(error.try_downcast_ref::<MySqlDatabaseError>()?.number())
}
