//! One lock that is held: a session of its own, with the transaction that locks the row.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    Holder, LostCause, Result,
    backend::{Attempt, Lease, Renewed},
};
use tokio::sync::Mutex;

use crate::{
    conn::{
        connection::{Connection, Row},
        pool::{Permit, Pool, silence},
    },
    errors,
    sql::server::{SessionId, is_on, number},
    token::epoch::{self, Epoch},
};

/// Restarts the server's clock of silence, and says whether this is still the session that holds
/// (T66) on a server that grants (T67). It touches no table: no statement of others stops it.
const HEARTBEAT: &str = "SELECT CONNECTION_ID(), @@global.read_only";

/// What carries a lease.
pub(crate) struct Hold {
    pub(crate) attempt: Attempt,
    pub(crate) server: SessionId,
    /// After so long a silence the server ends the session.
    wait_timeout: Duration,
    /// The row.
    pub(crate) row: Vec<u8>,
    /// Who holds it, for those who ask.
    pub(crate) holder: Holder,
    /// Gone with the release, or with the session.
    held_connection: Mutex<Option<HeldConnection>>,
    /// The session is known to hold nothing any more.
    over: AtomicBool,
}

pub(crate) struct HeldConnection {
    pub(crate) connection: Connection,
    pub(crate) permit: Permit,
}

/// What a heartbeat finds.
pub(crate) enum Beat {
    Alive,
    Lost(LostCause),
}

impl Hold {
    pub(crate) fn new(
        attempt: Attempt,
        row: Vec<u8>,
        holder: Holder,
        held_connection: HeldConnection,
    ) -> Self {
        Self {
            attempt,
            server: held_connection.connection.server,
            wait_timeout: Duration::from_secs(held_connection.connection.wait_timeout),
            row,
            holder,
            held_connection: Mutex::new(Some(held_connection)),
            over: AtomicBool::new(false),
        }
    }

    /// Renews by a heartbeat, if the session still holds.
    ///
    /// The heartbeat is a task of its own: a user's renewal that is left unpolled must not keep the
    /// connection from those of the locker. It ends by the bound of an answer.
    pub(crate) async fn renew(
        self: &Arc<Self>,
        session: &Arc<Pool>,
        lease: &Lease,
    ) -> Result<Renewed> {
        session.check_open()?;
        let sent = lease.sent_now();
        let (held, session) = (self.clone(), session.clone());
        let beating = tokio::spawn(async move {
            let mut held_connection = held.held_connection.lock().await;
            match held_connection.as_mut() {
                Some(HeldConnection { connection, .. }) => beat(&session, connection).await,
                None => Ok(Beat::Lost(LostCause::SessionEnded)),
            }
        });
        match beating.await.unwrap_or_else(errors::task_failed)? {
            Beat::Alive => Ok(lease.renewed(sent, self.wait_timeout)),
            Beat::Lost(cause) => Ok(Renewed::Lost(cause)),
        }
    }

    /// Reads the row of the epoch for all, over the connection that holds: when the one that works with the
    /// tables cannot.
    pub(crate) async fn reads(self: &Arc<Self>, session: &Arc<Pool>) -> Result<()> {
        let (held, session) = (self.clone(), session.clone());
        let reading = tokio::spawn(async move {
            let mut held_connection = held.held_connection.lock().await;
            let Some(HeldConnection { connection, .. }) = held_connection.as_mut() else {
                return Err(errors::connection_lost());
            };
            let (clock, request_timeout) =
                (&session.connector.clock, session.config().request_timeout);
            let asked = clock.now();
            let rows = connection
                .query(clock, &epoch::ask(), request_timeout)
                .await?;
            let epoch = Epoch::among(&rows, asked)?.ok_or_else(epoch::no_row)?;
            if epoch.boot != held.server.boot {
                return Err(errors::session_moved());
            }
            session.epochs.learn(epoch);
            Ok(())
        });
        reading.await.unwrap_or_else(errors::task_failed)
    }

    /// Tells of a loss if its own connection knows of one. It proves no hold: nothing counts from it.
    pub(crate) async fn check(&self, session: &Pool) {
        // One that is in use finds out by itself.
        let Ok(mut held_connection) = self.held_connection.try_lock() else {
            return;
        };
        if let Some(HeldConnection { connection, .. }) = held_connection.as_mut()
            && let Ok(Beat::Lost(cause)) = beat(session, connection).await
        {
            self.attempt.report_lost(cause);
        }
    }

    /// Frees the row. Whatever is in doubt is closed, and its session killed.
    pub(crate) async fn release(&self, session: &Pool) -> Result<()> {
        // A heartbeat on its way ends first, or is given up by core.
        let mut held_connection = self.held_connection.lock().await;
        // Taken out: if this future is dropped, the socket is closed with it.
        if let Some(HeldConnection {
            mut connection,
            permit,
        }) = held_connection.take()
            && connection.is_reusable()
        {
            let config = session.config();
            let clock = &session.connector.clock;
            if connection
                .commit(clock, config.request_timeout)
                .await
                .is_ok()
            {
                self.over.store(true, Ordering::Release);
                session.keep(connection);
                // Not before: who comes next finds the connection.
                drop(permit);
                return Ok(());
            }
        }
        if self.over.load(Ordering::Acquire) || session.is_closed() {
            return Ok(());
        }
        session.sessions()?.end_session(self.server).await?;
        self.over.store(true, Ordering::Release);
        Ok(())
    }
}

/// One heartbeat. An error is unknown.
pub(crate) async fn beat(session: &Pool, connection: &mut Connection) -> Result<Beat> {
    ask(session, connection, HEARTBEAT).await
}

/// The first heartbeat after a grant that was waited for: the session, which had little time until it, is
/// ended after `wait_timeout` seconds from now on.
pub(crate) async fn confirm(
    session: &Pool,
    connection: &mut Connection,
    wait_timeout: u64,
) -> Result<Beat> {
    let sql = format!("SET SESSION {}; {HEARTBEAT}", silence(wait_timeout));
    let beat = ask(session, connection, &sql).await?;
    connection.wait_timeout = wait_timeout;
    Ok(beat)
}

async fn ask(session: &Pool, connection: &mut Connection, sql: &str) -> Result<Beat> {
    let (clock, request_timeout) = (&session.connector.clock, session.config().request_timeout);
    match connection.query(clock, sql, request_timeout).await {
        Ok(rows) => found(rows.first(), connection.server),
        Err(error) if errors::is_session_over(&error) => Ok(Beat::Lost(LostCause::SessionEnded)),
        Err(error) => Err(error),
    }
}

fn found(row: Option<&Row>, server: SessionId) -> Result<Beat> {
    let Some(row) = row else {
        return Ok(Beat::Lost(LostCause::SessionEnded));
    };
    Ok(if number(row, 0)? != server.connection {
        Beat::Lost(LostCause::SessionEnded)
    } else if is_on(row, 1)? {
        Beat::Lost(LostCause::Demoted)
    } else {
        Beat::Alive
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(id: &str, read_only: &str) -> Option<Beat> {
        let server = SessionId {
            connection: 7,
            ..SessionId::default()
        };
        let row = vec![Some(id.to_owned()), Some(read_only.to_owned())];
        found(Some(&row), server).ok()
    }

    /// T66: a proxy that moved the session answers, too.
    #[test]
    fn only_the_session_itself_on_a_server_that_grants_proves_a_hold() {
        assert!(matches!(beat("7", "0"), Some(Beat::Alive)));
        assert!(matches!(
            beat("8", "0"),
            Some(Beat::Lost(LostCause::SessionEnded))
        ));
        assert!(matches!(
            beat("7", "1"),
            Some(Beat::Lost(LostCause::Demoted))
        ));
        assert!(beat("", "0").is_none(), "nonsense is unknown");
    }
}
