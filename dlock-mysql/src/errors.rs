//! The server's and the driver's errors → kind, effect and what to do about it.

use std::{fmt, io, time::Duration};

use dlock_core::{Effect, Error, ErrorKind, Result, config::TlsFiles};
use sqlx::mysql::MySqlDatabaseError;
use tokio::task::JoinError;

/// A lock wait took too long; with `NOWAIT` MariaDB's way to say that the row is locked.
const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// MySQL's way to say so.
const LOCK_NOWAIT: u16 = 3572;

/// There is no such table.
const NO_TABLE: u16 = 1146;

/// There is no such column.
const NO_COLUMN: u16 = 1054;

/// `KILL` of a session that is over.
const NO_SESSION: u16 = 1094;

/// There is no such prepared statement: a proxy has moved the session to another connection.
const NO_STATEMENT: u16 = 1243;

/// The server prepares no statement, or none any more: it has too many, is no server but a proxy, or
/// has too little memory for tables.
const UNPREPARED: [u16; 3] = [1295, 1461, 1615];

/// There is no connection left: of the server, or of the account.
const FULL: [u16; 3] = [1040, 1203, 1226];

/// The session is over: a shutdown, `KILL` as MariaDB says it, gone, lost, silent for too long.
const SESSION_OVER: [u16; 5] = [1053, 1927, 2006, 2013, 4031];

/// What became of a statement that failed with `error`.
pub(crate) fn of_request(error: sqlx::Error) -> Error {
    let (kind, effect, hint) = table(&error);
    Error::new(kind, hint)
        .with_effect(effect)
        .with_source(error)
}

/// Why there is no connection: nothing was asked for.
pub(crate) fn of_connect(error: sqlx::Error) -> Error {
    of_request(error).with_effect(Effect::None)
}

/// The server took longer than `max` to take us in.
pub(crate) fn silent(max: Duration) -> Error {
    let why = format!("no answer in {max:?} while connecting");
    Error::new(ErrorKind::Unavailable, why)
}

/// The server took longer than `max` to answer.
pub(crate) fn no_answer(max: Duration) -> Error {
    let why = format!("no answer in {max:?}");
    Error::new(ErrorKind::Unavailable, why).with_effect(Effect::Unknown)
}

/// The connection was lost a moment ago.
pub(crate) fn gone() -> Error {
    Error::new(ErrorKind::Unavailable, "the connection was lost")
}

/// A task ended before its time: its runtime has ended, or it panicked.
pub(crate) fn given_up<T>(error: JoinError) -> Result<T> {
    let why = "the work was given up";
    let error = Error::new(ErrorKind::Unavailable, why).with_source(error);
    Err(error.with_effect(Effect::Unknown))
}

/// Another server gives the tokens now: this connection is to a former primary, or from before.
#[derive(Debug)]
struct Moved;

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server was restarted, or is not the primary any more")
    }
}

impl std::error::Error for Moved {}

/// The primary has changed.
pub(crate) fn moved() -> Error {
    Error::new(ErrorKind::Unavailable, "a new connection is needed").with_source(Moved)
}

/// Whether it says [`moved`], or a proxy has moved the session.
pub(crate) fn is_moved(error: &Error) -> bool {
    let is_moved = error.get_ref().is_some_and(|source| source.is::<Moved>());
    is_moved || number(error) == Some(NO_STATEMENT)
}

/// Whether the same statement may succeed as text.
pub(crate) fn is_unprepared(error: &Error) -> bool {
    number(error).is_some_and(|number| UNPREPARED.contains(&number))
}

/// Whether the server has said something about the statement, and the session goes on. Proxies that prepare
/// nothing have many ways to say so.
pub(crate) fn is_refusal(error: &Error) -> bool {
    number(error).is_some() && !is_taken(error) && !is_moved(error) && !ends_session(error)
}

/// The server follows another one.
pub(crate) fn read_only() -> Error {
    let why = "the server is read-only, which a replica is; give the primary's address";
    Error::new(ErrorKind::Unavailable, why)
}

/// The server was started or promoted so lately that locks of before may be held.
pub(crate) fn guarded(left: Duration, longest: Duration) -> Error {
    let (left, longest) = (left.as_secs() + 1, longest.as_secs());
    let why = format!(
        "the server was started or promoted a moment ago, and holders of before may not have heard of it; \
         it grants nothing for {left} s more, as the longest ttl in use is {longest} s (see restart_guard=)"
    );
    Error::new(ErrorKind::Unavailable, why)
}

/// Whether somebody else has the row locked.
pub(crate) fn is_taken(error: &Error) -> bool {
    matches!(number(error), Some(LOCK_WAIT_TIMEOUT | LOCK_NOWAIT))
}

/// Whether a table, or a row that no lock stands for, is kept by somebody: what [`of_tables`] has made of it.
pub(crate) fn is_kept(error: &Error) -> bool {
    let source = error
        .get_ref()
        .and_then(|source| source.downcast_ref::<Error>());
    is_taken(error) || source.is_some_and(is_taken)
}

/// `error` of a statement that works with the tables on no lock's behalf: what it did not get in time is
/// no lock, but a table that somebody keeps to himself, or a row of it.
pub(crate) fn of_tables(error: Error) -> Error {
    if !is_taken(&error) {
        return error;
    }
    let why = format!("dlock waits in the server behind {OF_A_TABLE}, or {OF_ALL}");
    Error::new(ErrorKind::Unavailable, why).with_source(error)
}

/// Statements that keep tables to themselves.
const OF_A_TABLE: &str =
    "ALTER TABLE, LOCK TABLES or another statement that keeps a table of dlock to itself";
const OF_ALL: &str = "FLUSH TABLES WITH READ LOCK, as a backup runs it";

/// What a session waits for, as the server calls it, when that is no row, and whose statement has it.
const KEEPERS: [(&str, &str); 6] = [
    ("Waiting for table metadata lock", OF_A_TABLE),
    ("Waiting for schema metadata lock", "ALTER DATABASE"),
    ("Waiting for table flush", "FLUSH TABLES"),
    ("Waiting for global read lock", OF_ALL),
    ("Waiting for commit lock", OF_ALL),
    (
        "Waiting for backup lock",
        "FLUSH TABLES WITH READ LOCK or BACKUP STAGE, as a backup runs them",
    ),
];

/// Grants wait in the server behind a statement that keeps tables to itself, if that is what a session
/// waits for whose state is `state`.
pub(crate) fn behind(state: &str) -> Option<Error> {
    let (_, keeper) = KEEPERS.iter().find(|(of, _)| *of == state)?;
    Some(kept(keeper))
}

/// The same, when the state was not to be seen.
pub(crate) fn behind_something() -> Error {
    kept("a statement that keeps a table of dlock to itself")
}

fn kept(keeper: &str) -> Error {
    let why = format!("new grants wait in the server behind {keeper}");
    Error::new(ErrorKind::Unavailable, why)
}

/// Whether the server, or the account, has no connection left.
pub(crate) fn is_full(error: &Error) -> bool {
    number(error).is_some_and(|number| FULL.contains(&number))
}

/// Whether the tables are missing.
pub(crate) fn is_no_table(error: &Error) -> bool {
    number(error) == Some(NO_TABLE)
}

/// Whether a table lacks a column that this layout has.
pub(crate) fn is_no_column(error: &Error) -> bool {
    number(error) == Some(NO_COLUMN)
}

/// Whether the session to be killed is over already.
pub(crate) fn is_no_session(error: &Error) -> bool {
    number(error) == Some(NO_SESSION)
}

/// Whether the connection has ended, with all that it held.
pub(crate) fn ends_session(error: &Error) -> bool {
    error
        .get_ref()
        .and_then(|source| source.downcast_ref())
        .is_some_and(is_cut)
}

/// Whether the connection has ended.
pub(crate) fn is_cut(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => true,
        _ => code(error).is_some_and(|number| SESSION_OVER.contains(&number)),
    }
}

fn number(error: &Error) -> Option<u16> {
    code(error.get_ref()?.downcast_ref()?)
}

fn code(error: &sqlx::Error) -> Option<u16> {
    let error = error.as_database_error()?;
    Some(error.try_downcast_ref::<MySqlDatabaseError>()?.number())
}

fn table(error: &sqlx::Error) -> (ErrorKind, Effect, &'static str) {
    code(error).map_or_else(|| of_driver(error), of_number)
}

/// What the server says.
fn of_number(number: u16) -> (ErrorKind, Effect, &'static str) {
    use ErrorKind::{Contended, Denied, Internal, InvalidConfig, Unavailable, Unsupported};
    let none = |kind, hint| (kind, Effect::None, hint);
    match number {
        LOCK_WAIT_TIMEOUT | LOCK_NOWAIT => none(Contended, "somebody else holds it"),
        1040 => none(
            Unavailable,
            "the server has no connection left; raise its max_connections, or lower held_max=",
        ),
        1203 | 1226 => none(
            Unavailable,
            "the account has no connection left; raise its limit, or lower held_max=",
        ),
        1045 => none(Denied, "wrong user or password"),
        1698 => none(
            Denied,
            "this account logs in without a password, by the socket and as its own system user; use \
             socket=, or another account",
        ),
        1130 => none(Denied, "the server takes no connections from this machine"),
        1129 => none(
            Denied,
            "the server has blocked this machine after many failures; an administrator runs FLUSH HOSTS",
        ),
        3159 => none(Denied, "the server requires TLS; use tls=required"),
        1251 | 1524 => none(
            Denied,
            "the account has a way of logging in that the driver does not know",
        ),
        1044 => none(
            Denied,
            "the account may not use this database; an administrator runs GRANT SELECT, INSERT, \
             UPDATE, DELETE, CREATE on it",
        ),
        1142 | 1143 => none(
            Denied,
            "the account may not do this; an administrator runs GRANT SELECT, INSERT, UPDATE, DELETE \
             on the tables that dlock setup --print shows",
        ),
        1227 => none(Denied, "the account lacks a privilege for this"),
        1049 => none(
            InvalidConfig,
            "there is no such database; an administrator runs CREATE DATABASE",
        ),
        NO_TABLE => none(
            InvalidConfig,
            "the tables are missing; dlock setup makes them",
        ),
        1290 | 1792 | 1836 => none(
            Unavailable,
            "the server is read-only, which a replica is; give the primary's address",
        ),
        1665 => none(
            Unsupported,
            "the server cannot log what dlock writes; an administrator runs SET GLOBAL \
             binlog_format = MIXED, or ROW",
        ),
        NO_STATEMENT => none(Unavailable, "a proxy has moved the session"),
        1213 => none(Unavailable, "the server saw a deadlock and gave up"),
        1317 => none(Unavailable, "somebody ended the statement (KILL QUERY)"),
        1969 | 3024 => none(
            Unavailable,
            "the server's limit for statements ended this one; see max_statement_time",
        ),
        1305 | 1128 => none(Unsupported, "the server has no UUID_SHORT()"),
        number if SESSION_OVER.contains(&number) => {
            (Unavailable, Effect::Unknown, "the server ended the session")
        }
        _ => none(Internal, "the server refused the statement"),
    }
}

/// What the driver says by itself.
fn of_driver(error: &sqlx::Error) -> (ErrorKind, Effect, &'static str) {
    use ErrorKind::{Denied, Internal, InvalidConfig, Unavailable};
    if let sqlx::Error::Io(error) = error
        && let Some(refused) = of_tls(error)
    {
        return refused;
    }
    match error {
        sqlx::Error::Io(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => (
                Unavailable,
                Effect::None,
                "nothing listens there; is the server running, and the port right?",
            ),
            io::ErrorKind::NotFound => (
                Unavailable,
                Effect::None,
                "there is no such socket; is the server running, and the path right?",
            ),
            _ => (
                Unavailable,
                Effect::Unknown,
                "the connection failed; the server may have gone away",
            ),
        },
        sqlx::Error::Tls(error) if error.to_string().contains("does not support TLS") => {
            (Denied, Effect::None, "the server has no TLS")
        }
        sqlx::Error::Tls(_) => (
            InvalidConfig,
            Effect::None,
            "the two sides do not agree on TLS; give the server's authority by tls_ca=",
        ),
        sqlx::Error::Configuration(error) if error.to_string().contains("RSA") => (
            Denied,
            Effect::None,
            "this account sends its password by TLS or by the socket only; use tls=required or socket=",
        ),
        sqlx::Error::Configuration(_) => (
            InvalidConfig,
            Effect::None,
            "the driver refuses the settings",
        ),
        sqlx::Error::Protocol(_) => (
            Unavailable,
            Effect::Unknown,
            "what answers there does not speak MySQL's protocol as expected",
        ),
        _ => (Internal, Effect::Unknown, "the driver failed"),
    }
}

/// What the two sides did not agree on, if it is about a certificate.
fn of_tls(error: &io::Error) -> Option<(ErrorKind, Effect, &'static str)> {
    let (kind, hint) = match error.get_ref()?.downcast_ref()? {
        rustls::Error::InvalidCertificate(_) => TlsFiles::UNTRUSTED,
        rustls::Error::AlertReceived(alert) => TlsFiles::of_alert(u8::from(*alert))?,
        _ => return None,
    };
    Some((kind, Effect::None, hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_says_has_a_kind_and_an_effect() {
        use ErrorKind::{Contended, Denied, Internal, InvalidConfig, Unavailable};
        for (numbers, kind, effect) in [
            (&[1205, 3572][..], Contended, Effect::None),
            (
                &[1213, 1317, 1290, 1040, 1203, 1969],
                Unavailable,
                Effect::None,
            ),
            (&SESSION_OVER, Unavailable, Effect::Unknown),
            (&[1045, 1044, 1142, 1227, 1698, 3159], Denied, Effect::None),
            (&[1049, 1146], InvalidConfig, Effect::None),
            (&[1064], Internal, Effect::None),
        ] {
            for number in numbers {
                let (found, seen, hint) = of_number(*number);
                assert_eq!((found, seen), (kind, effect), "{number}: {hint}");
            }
        }
    }

    #[test]
    fn a_cut_connection_ends_the_session_and_a_refusal_does_not() {
        let cut = io::Error::from(io::ErrorKind::UnexpectedEof);
        assert!(ends_session(&of_request(cut.into())));
        assert!(!ends_session(&of_request(sqlx::Error::RowNotFound)));
        assert!(!ends_session(&no_answer(Duration::from_secs(2))));
    }

    #[test]
    fn a_change_of_the_primary_is_known_by_its_error() {
        assert!(is_moved(&moved()));
        assert!(!is_moved(&read_only()));
    }
}
