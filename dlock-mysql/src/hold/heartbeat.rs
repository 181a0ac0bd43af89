//! Heartbeats: whether the session still holds its lock.

use dlock_core::{BootInstant, LostCause, Result};

use crate::{
    conn::{
        connection::{Connection, Statement},
        pool::{Pool, set_wait_timeout},
    },
    epoch::row::{self, Epoch},
    errors,
    hold::savepoint,
    sql::{
        row::{Row, is_on, number},
        server::SessionId,
    },
};

/// Restarts the server's `wait_timeout`, and checks that the session is the one that holds, on a server that
/// may grant. It uses no table, so a locked table does not stop it.
const HEARTBEAT: &str = "SELECT CONNECTION_ID(), @@global.read_only";

/// The result of a heartbeat.
pub(crate) enum Heartbeat {
    Alive,
    Lost(LostCause),
}

/// Sends one heartbeat. After an error the state of the session is unknown.
pub(crate) async fn send(pool: &Pool, connection: &mut Connection) -> Result<Heartbeat> {
    let sql = savepoint::after_return(connection, HEARTBEAT);
    let rows = match request(pool, connection, &sql).await {
        // The transaction is over, and with it the hold.
        Err(error) if errors::is_no_savepoint(&error) => Vec::new(),
        rows => rows?,
    };
    connection.has_savepoint = false;
    read(rows.first(), connection.session)
}

/// Sends the first heartbeat after a wait, at `sent`, with a query of the epoch behind it if `reads_epoch`. The
/// session had a short `wait_timeout` until then, and has this one from now on.
pub(crate) async fn confirm(
    pool: &Pool,
    connection: &mut Connection,
    wait_timeout: u64,
    sent: BootInstant,
    reads_epoch: bool,
) -> Result<(Heartbeat, Option<Epoch>)> {
    if !reads_epoch && connection.is_prepared() {
        let (clock, request_timeout) = (&pool.connector.clock, pool.config().timeouts.reply);
        let confirmed = connection.confirm(clock, wait_timeout, request_timeout);
        match confirmed.await {
            Ok(()) => return Ok((Heartbeat::Alive, None)),
            Err(error) if errors::is_session_over(&error) => {
                return Ok((Heartbeat::Lost(LostCause::SessionEnded), None));
            }
            // The server has refused it. The reply to the text says why.
            Err(error) if connection.is_reusable() => {
                connection.fall_back_to_text(Statement::Confirm, &error);
            }
            Err(error) => return Err(error),
        }
    }
    let mut sql = format!(
        "SET SESSION {}; {HEARTBEAT}",
        set_wait_timeout(wait_timeout)
    );
    if reads_epoch {
        sql += &format!("; {}", row::select());
    }
    let rows = request(pool, connection, &sql).await;
    // The first statement has set it, also if a later one failed.
    if connection.is_reusable() {
        connection.wait_timeout = wait_timeout;
    }
    let rows = rows?;
    let heartbeat = read(rows.first(), connection.session)?;
    Ok((heartbeat, Epoch::find(&rows, sent)?))
}

/// The rows of a reply; none if the session is over.
async fn request(pool: &Pool, connection: &mut Connection, sql: &str) -> Result<Vec<Row>> {
    let (clock, request_timeout) = (&pool.connector.clock, pool.config().timeouts.reply);
    match connection.query(clock, sql, request_timeout).await {
        Err(error) if errors::is_session_over(&error) => Ok(Vec::new()),
        rows => rows,
    }
}

fn read(row: Option<&Row>, session: SessionId) -> Result<Heartbeat> {
    let Some(row) = row else {
        return Ok(Heartbeat::Lost(LostCause::SessionEnded));
    };
    Ok(if number(row, 0)? != session.connection {
        Heartbeat::Lost(LostCause::SessionEnded)
    } else if is_on(row, 1)? {
        Heartbeat::Lost(LostCause::Demoted)
    } else {
        Heartbeat::Alive
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heartbeat(id: &str, read_only: &str) -> Option<Heartbeat> {
        let session = SessionId {
            connection: 7,
            ..SessionId::default()
        };
        let row = vec![Some(id.to_owned()), Some(read_only.to_owned())];
        read(Some(&row), session).ok()
    }

    /// A proxy that moved the session replies, too.
    #[test]
    fn only_the_session_itself_on_a_server_that_grants_proves_a_hold() {
        assert!(matches!(heartbeat("7", "0"), Some(Heartbeat::Alive)));
        assert!(matches!(
            heartbeat("8", "0"),
            Some(Heartbeat::Lost(LostCause::SessionEnded))
        ));
        assert!(matches!(
            heartbeat("7", "1"),
            Some(Heartbeat::Lost(LostCause::Demoted))
        ));
        assert!(
            heartbeat("", "0").is_none(),
            "an unexpected reply is an error"
        );
    }
}
