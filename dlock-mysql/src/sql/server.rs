//! Identity of the server behind a connection: its product, its start, its sessions.

use dlock_core::Result;

use crate::{
    config::TokenSource,
    sql::row::{Row, is_on, number},
};

/// One session of one start of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionId {
    /// The connection's number; a restarted server uses it again.
    pub(crate) connection: u64,
    /// The start of the server.
    pub(crate) start: ServerStart,
}

/// One start of one server: its `server_id`, and the second of its start.
///
/// `UUID_SHORT()` cannot distinguish two starts: it has one byte of the id, and after 2^24 values the count
/// carries into the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ServerStart(pub(crate) u64);

impl ServerStart {
    fn new(id: u64, second: u64) -> Self {
        Self(id << 32 | second)
    }

    /// Whether it is over, as the same server was started again since then.
    pub(crate) fn is_before(self, other: Self) -> bool {
        self.is_of_same_server(other) && self < other
    }

    pub(crate) fn is_of_same_server(self, other: Self) -> bool {
        self.0 >> 32 == other.0 >> 32
    }
}

/// The server's product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    MySql,
    MariaDb,
}

impl Product {
    /// Settings that turn off MariaDB's limits for silent transactions, which would end a hold before its
    /// `wait_timeout`.
    pub(crate) fn unlimited_holds(self) -> &'static str {
        match self {
            Self::MySql => "",
            Self::MariaDb => {
                ", idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0, \
                 idle_write_transaction_timeout = 0"
            }
        }
    }

    /// Locks the row of a name if it is free, and reads the server's next serial number.
    ///
    /// MariaDB carries out `NOWAIT` by setting variables, for each execution. So there the session does not wait
    /// for rows in any statement without a limit of its own.
    pub(crate) fn lock_row(self) -> &'static str {
        match self {
            Self::MySql => "SELECT UUID_SHORT() FROM dlock_locks WHERE name = ? FOR UPDATE NOWAIT",
            Self::MariaDb => "SELECT UUID_SHORT() FROM dlock_locks WHERE name = ? FOR UPDATE",
        }
    }

    /// The query that [`ServerInfo`] is read from.
    ///
    /// Time and uptime come from one reading of the clock, so their difference is the start, even if the
    /// clock is set. A clock that was set back behind the start makes the uptime negative, hence the cast.
    pub(crate) fn info_query(self, tokens: TokenSource) -> String {
        let status = match self {
            Self::MySql => "performance_schema.global_status",
            Self::MariaDb => "information_schema.GLOBAL_STATUS",
        };
        let serial = match tokens {
            TokenSource::Epoch => "UUID_SHORT()",
            TokenSource::Committed => "0",
        };
        format!(
            "SELECT CONNECTION_ID(), @@server_id, {serial}, UNIX_TIMESTAMP() - CAST(CAST(VARIABLE_VALUE AS UNSIGNED) \
             AS SIGNED), VARIABLE_VALUE, @@global.read_only FROM {status} WHERE VARIABLE_NAME = 'Uptime'"
        )
    }
}

/// The reply to [`Product::info_query`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerInfo {
    pub(crate) session: SessionId,
    /// The next value of `UUID_SHORT()`.
    pub(crate) serial: u64,
    /// Seconds since the server's start, by its clock.
    pub(crate) uptime: u64,
    pub(crate) is_read_only: bool,
}

impl ServerInfo {
    pub(crate) fn read(row: &Row) -> Result<Self> {
        let (id, second) = (number(row, 1)?, number(row, 3)?);
        Ok(Self {
            session: SessionId {
                connection: number(row, 0)?,
                start: ServerStart::new(id, second),
            },
            serial: number(row, 2)?,
            uptime: number(row, 4)?,
            is_read_only: is_on(row, 5)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(id: &str, second: &str) -> ServerStart {
        let row = ["7", id, "0", second, "5", "0"].map(|text| Some(text.to_owned()));
        ServerInfo::read(&row.to_vec())
            .expect("an answer")
            .session
            .start
    }

    #[test]
    fn starts_of_two_servers_are_two_though_their_ids_end_alike() {
        assert_eq!(start("1", "1800000000"), start("1", "1800000000"));
        assert_ne!(start("1", "1800000000"), start("1", "1800000001"));
        assert_ne!(start("1", "1800000000"), start("257", "1800000000"));
        assert_ne!(start("1", "1800000000"), start("4294967295", "1800000000"));
        assert!(start("257", "1").is_of_same_server(start("257", "2")));
        assert!(start("257", "1").is_before(start("257", "2")));
        assert!(!start("257", "2").is_before(start("257", "2")));
        assert!(!start("1", "1").is_before(start("257", "2")));
        assert!(!start("257", "1").is_of_same_server(start("1", "1")));
    }
}
