//! Error of the server or the driver → kind, effect and hint.

use std::io;

use dlock_core::{Effect, ErrorKind};

use crate::errors::codes::{
    LOCK_NOWAIT, LOCK_WAIT_TIMEOUT, NO_SAVEPOINT, NO_STATEMENT, NO_TABLE, READ_ONLY, SESSION_OVER,
    code,
};

/// The hint of a socket that is not there.
pub(super) const NO_SOCKET: &str =
    "there is no such socket; is the server running, and the path right?";

/// Kind, effect and hint of an error of the driver.
pub(crate) fn table(error: &sqlx::Error) -> (ErrorKind, Effect, &'static str) {
    code(error).map_or_else(|| of_driver(error), of_number)
}

/// An error that the server sent.
fn of_number(number: u16) -> (ErrorKind, Effect, &'static str) {
    use ErrorKind::{Contended, Denied, Internal, InvalidConfig, Unavailable, Unsupported};
    let none = |kind, hint| (kind, Effect::None, hint);
    match number {
        LOCK_WAIT_TIMEOUT | LOCK_NOWAIT => none(Contended, "another holder has it"),
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
        number if READ_ONLY.contains(&number) => none(
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
        1317 => none(Unavailable, "the statement was ended by KILL QUERY"),
        1969 | 3024 => none(
            Unavailable,
            "the server's limit for statements ended this one; see max_statement_time",
        ),
        NO_SAVEPOINT | 1128 => none(Unsupported, "the server has no UUID_SHORT()"),
        number if SESSION_OVER.contains(&number) => {
            (Unavailable, Effect::Unknown, "the server ended the session")
        }
        _ => none(Internal, "the server refused the statement"),
    }
}

/// An error of the driver itself.
fn of_driver(error: &sqlx::Error) -> (ErrorKind, Effect, &'static str) {
    use ErrorKind::{Denied, Internal, InvalidConfig, Unavailable};
    #[cfg(feature = "tls")]
    if let sqlx::Error::Io(error) = error
        && let Some((kind, hint)) = super::tls::of_certificate(error)
    {
        return (kind, Effect::None, hint);
    }
    match error {
        sqlx::Error::Io(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => (
                Unavailable,
                Effect::None,
                "connection refused; is the server running, and the port right?",
            ),
            io::ErrorKind::NotFound => (Unavailable, Effect::None, NO_SOCKET),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_of_the_server_has_a_kind_and_an_effect() {
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
}
