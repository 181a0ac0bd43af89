//! Which server a connection leads to, and which start of it.

use dlock_core::{Error, ErrorKind, Result};

use crate::{config::Tokens, link::Row};

/// One session of one start of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Server {
    /// The connection's number, which is given again after a restart.
    pub(crate) connection: u64,
    /// The start of the server.
    pub(crate) boot: Boot,
}

/// One start of one server: the low byte of its `server_id`, and the second of its start.
///
/// They are the first 40 bits of all values of `UUID_SHORT()` of that start, as long as it counts less
/// than 2^24 of them; the second is asked for by itself, so that it does not matter if it counts more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Boot(pub(crate) u64);

/// Which product it is: they keep the second of their start in different places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    MySql,
    MariaDb,
}

impl Product {
    /// The start of the server and how many seconds ago it was. The difference of the two is the same
    /// whatever the clock does, as both are read from it at once. It was set back behind the start if
    /// the seconds are as many as a negative number is without its sign.
    pub(crate) fn ask_start(self, tokens: Tokens) -> String {
        let status = match self {
            Self::MySql => "performance_schema.global_status",
            Self::MariaDb => "information_schema.GLOBAL_STATUS",
        };
        let serial = match tokens {
            Tokens::Epoch => "UUID_SHORT()",
            Tokens::Committed => "(@@server_id & 255) << 56",
        };
        format!(
            "SELECT CONNECTION_ID(), {serial}, UNIX_TIMESTAMP() - CAST(CAST(VARIABLE_VALUE AS UNSIGNED) \
             AS SIGNED), VARIABLE_VALUE, @@global.read_only FROM {status} WHERE VARIABLE_NAME = 'Uptime'"
        )
    }
}

/// What [`Product::ask_start`] is answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) server: Server,
    /// The next number of the server.
    pub(crate) serial: u64,
    /// Seconds since its start, by its clock.
    pub(crate) uptime: u64,
    pub(crate) is_read_only: bool,
}

impl Start {
    pub(crate) fn read(row: &Row) -> Result<Self> {
        let serial = number(row, 1)?;
        Ok(Self {
            server: Server {
                connection: number(row, 0)?,
                boot: Boot((serial >> 56) << 32 | number(row, 2)?),
            },
            serial,
            uptime: number(row, 3)?,
            is_read_only: is_on(row, 4)?,
        })
    }
}

/// Whether the variable in a column is on; it is a number to some versions, a word to others.
pub(crate) fn is_on(row: &Row, column: usize) -> Result<bool> {
    match row.get(column).and_then(Option::as_deref) {
        Some(value) => Ok(!["0", "OFF"].contains(&value)),
        None => Err(nonsense(row)),
    }
}

/// The number in a column.
pub(crate) fn number(row: &Row, column: usize) -> Result<u64> {
    let text = row.get(column).and_then(Option::as_deref);
    // Some come as decimals, with nothing after the point.
    let whole = text.map(|text| text.split('.').next().unwrap_or(text));
    whole
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| nonsense(row))
}

fn nonsense(row: &Row) -> Error {
    let why = format!("the server's answer makes no sense: {row:?}");
    Error::new(ErrorKind::Internal, why)
}
