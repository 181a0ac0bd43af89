//! Which server a connection leads to, and which start of it.

use dlock_core::{Error, ErrorKind, Result};

use crate::{config::Tokens, conn::connection::Row};

/// One session of one start of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionId {
    /// The connection's number, which is given again after a restart.
    pub(crate) connection: u64,
    /// The start of the server.
    pub(crate) boot: ServerStart,
}

/// One start of one server: its `server_id`, and the second of its start.
///
/// `UUID_SHORT()` has both, but of the first only a byte, which servers that replace each other may
/// share; and into the second more than 2^24 values carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ServerStart(pub(crate) u64);

impl ServerStart {
    fn new(id: u64, second: u64) -> Self {
        Self(id << 32 | second)
    }

    pub(crate) fn is_of_same_server(self, other: Self) -> bool {
        self.0 >> 32 == other.0 >> 32
    }
}

/// Which product it is: they keep the second of their start in different places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    MySql,
    MariaDb,
}

impl Product {
    /// What else ends a session whose transaction is silent, if that is set for all: earlier than the
    /// holder knows.
    pub(crate) fn unlimited_holds(self) -> &'static str {
        match self {
            Self::MySql => "",
            Self::MariaDb => {
                ", idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0, \
                 idle_write_transaction_timeout = 0"
            }
        }
    }

    /// The start of the server and how many seconds ago it was. The difference of the two is the same
    /// whatever the clock does, as both are read from it at once. It was set back behind the start if
    /// the seconds are as many as a negative number is without its sign.
    pub(crate) fn info_query(self, tokens: Tokens) -> String {
        let status = match self {
            Self::MySql => "performance_schema.global_status",
            Self::MariaDb => "information_schema.GLOBAL_STATUS",
        };
        let serial = match tokens {
            Tokens::Epoch => "UUID_SHORT()",
            Tokens::Committed => "0",
        };
        format!(
            "SELECT CONNECTION_ID(), @@server_id, {serial}, UNIX_TIMESTAMP() - CAST(CAST(VARIABLE_VALUE AS UNSIGNED) \
             AS SIGNED), VARIABLE_VALUE, @@global.read_only FROM {status} WHERE VARIABLE_NAME = 'Uptime'"
        )
    }
}

/// What [`Product::info_query`] is answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerInfo {
    pub(crate) server: SessionId,
    /// The next number of the server.
    pub(crate) serial: u64,
    /// Seconds since its start, by its clock.
    pub(crate) uptime: u64,
    pub(crate) is_read_only: bool,
}

impl ServerInfo {
    pub(crate) fn read(row: &Row) -> Result<Self> {
        let (id, second) = (number(row, 1)?, number(row, 3)?);
        Ok(Self {
            server: SessionId {
                connection: number(row, 0)?,
                boot: ServerStart::new(id, second),
            },
            serial: number(row, 2)?,
            uptime: number(row, 4)?,
            is_read_only: is_on(row, 5)?,
        })
    }
}

/// Whether the variable in a column is on; it is a number to some versions, a word to others.
pub(crate) fn is_on(row: &Row, column: usize) -> Result<bool> {
    match row.get(column).and_then(Option::as_deref) {
        Some(value) => Ok(!["0", "OFF"].contains(&value)),
        None => Err(unexpected_reply(row)),
    }
}

/// The number in a column.
pub(crate) fn number(row: &Row, column: usize) -> Result<u64> {
    let text = row.get(column).and_then(Option::as_deref);
    // Some come as decimals, with nothing after the point.
    let whole = text.map(|text| text.split('.').next().unwrap_or(text));
    whole
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| unexpected_reply(row))
}

fn unexpected_reply(row: &Row) -> Error {
    let why = format!("the server's answer makes no sense: {row:?}");
    Error::new(ErrorKind::Internal, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(id: &str, second: &str) -> ServerStart {
        let row = ["7", id, "0", second, "5", "0"].map(|text| Some(text.to_owned()));
        ServerInfo::read(&row.to_vec())
            .expect("an answer")
            .server
            .boot
    }

    #[test]
    fn starts_of_two_servers_are_two_though_their_ids_end_alike() {
        assert_eq!(boot("1", "1800000000"), boot("1", "1800000000"));
        assert_ne!(boot("1", "1800000000"), boot("1", "1800000001"));
        assert_ne!(boot("1", "1800000000"), boot("257", "1800000000"));
        assert_ne!(boot("1", "1800000000"), boot("4294967295", "1800000000"));
        assert!(boot("257", "1").is_of_same_server(boot("257", "2")));
        assert!(!boot("257", "1").is_of_same_server(boot("1", "1")));
    }
}
