//! One held lock: a session of its own, whose transaction locks the row.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    BootInstant, LostCause, Result,
    backend::{Attempt, Lease, Renewed},
};
use tokio::sync::Mutex;

use crate::{
    conn::{
        connection::Connection,
        pool::{Permit, Pool},
    },
    epoch::row::{self, Epoch},
    errors,
    hold::{
        heartbeat::{self, Heartbeat},
        savepoint,
    },
    sql::server::SessionId,
};

/// The handle of a lease.
pub(crate) struct Hold {
    pub(crate) attempt: Attempt,
    pub(crate) session: SessionId,
    /// The begin of the request that was granted.
    pub(crate) since: BootInstant,
    /// The server ends the session after so long a silence.
    wait_timeout: Duration,
    /// The key of the row.
    pub(crate) row: Vec<u8>,
    /// The reply to inspections: [`dlock_core::Holder::encode`].
    pub(crate) holder: String,
    /// `None` after the release, or after the end of the session.
    connection: Mutex<Option<HeldConnection>>,
    /// The session is known not to hold the row any more.
    is_released: AtomicBool,
}

/// A connection and its permit.
pub(crate) struct HeldConnection {
    pub(crate) connection: Connection,
    pub(crate) permit: Permit,
}

impl Hold {
    pub(crate) fn new(
        attempt: Attempt,
        since: BootInstant,
        row: Vec<u8>,
        holder: String,
        held: HeldConnection,
    ) -> Self {
        Self {
            attempt,
            session: held.connection.session,
            since,
            wait_timeout: Duration::from_secs(held.connection.wait_timeout),
            row,
            holder,
            connection: Mutex::new(Some(held)),
            is_released: AtomicBool::new(false),
        }
    }

    /// Renews by a heartbeat, if the session still holds.
    ///
    /// The heartbeat is a task of its own: a user's renewal that is left unpolled must not block the
    /// connection for the locker's renewals. The request timeout bounds it.
    pub(crate) async fn renew(
        self: &Arc<Self>,
        pool: &Arc<Pool>,
        lease: &Lease,
    ) -> Result<Renewed> {
        pool.check_open()?;
        let sent = lease.sent_now();
        let (hold, pool) = (self.clone(), pool.clone());
        let heartbeat = tokio::spawn(async move {
            match hold.connection.lock().await.as_mut() {
                Some(held) => heartbeat::send(&pool, &mut held.connection).await,
                None => Ok(Heartbeat::Lost(LostCause::SessionEnded)),
            }
        });
        match heartbeat.await.unwrap_or_else(errors::task_failed)? {
            Heartbeat::Alive => Ok(lease.renewed(sent, self.wait_timeout)),
            Heartbeat::Lost(cause) => Ok(Renewed::Lost(cause)),
        }
    }

    /// Reads the epoch for all over the holding connection, when the control connection cannot. Reports a loss that it
    /// finds.
    pub(crate) async fn read_epoch(self: &Arc<Self>, pool: &Arc<Pool>) -> Result<()> {
        let (hold, pool) = (self.clone(), pool.clone());
        let reading = tokio::spawn(async move {
            let mut held = hold.connection.lock().await;
            let held = held.as_mut().ok_or_else(errors::connection_lost)?;
            let connection = &mut held.connection;
            if connection.has_savepoint {
                hold.send_heartbeat(&pool, connection).await?;
            }
            let read = epoch_on(&pool, connection).await;
            if read.is_err() && connection.is_reusable() {
                // The statement may have ended the transaction.
                hold.send_heartbeat(&pool, connection).await?;
            }
            pool.epochs.store(read?);
            Ok(())
        });
        reading.await.unwrap_or_else(errors::task_failed)
    }

    /// Reports a loss if its own connection finds one. The deadline does not move.
    pub(crate) async fn check(&self, pool: &Pool) {
        // The user of a busy connection notices a loss.
        let Ok(mut held) = self.connection.try_lock() else {
            return;
        };
        if let Some(held) = held.as_mut() {
            let _ = self.send_heartbeat(pool, &mut held.connection).await;
        }
    }

    /// Sends a heartbeat, and reports a loss that it finds.
    async fn send_heartbeat(&self, pool: &Pool, connection: &mut Connection) -> Result<()> {
        if let Heartbeat::Lost(cause) = heartbeat::send(pool, connection).await? {
            self.attempt.report_lost(cause);
            return Err(errors::connection_lost());
        }
        Ok(())
    }

    /// Frees the row. If that is not confirmed, closes the connection and kills its session (K4).
    pub(crate) async fn release(&self, pool: &Pool) -> Result<()> {
        // A heartbeat in progress ends first, or core drops this future.
        let mut held = self.connection.lock().await;
        // Taken out: if this future is dropped, the socket is closed with it.
        if let Some(HeldConnection {
            mut connection,
            permit,
        }) = held.take()
            && connection.is_reusable()
        {
            let (clock, request_timeout) = (&pool.connector.clock, pool.config().timeouts.reply);
            if connection.commit(clock, request_timeout).await.is_ok() {
                self.is_released.store(true, Ordering::Release);
                pool.put(connection);
                // After the connection, so that the next acquire finds it.
                drop(permit);
                return Ok(());
            }
        }
        if self.is_released.load(Ordering::Acquire) || pool.is_closed() {
            return Ok(());
        }
        pool.sessions()?.end_session(self.session).await?;
        self.is_released.store(true, Ordering::Release);
        Ok(())
    }
}

/// The epoch, as the holding `connection` reads it.
async fn epoch_on(pool: &Pool, connection: &mut Connection) -> Result<Epoch> {
    let (clock, request_timeout) = (&pool.connector.clock, pool.config().timeouts.reply);
    let sent = clock.now();
    let rows = savepoint::query(connection, clock, &row::select(), request_timeout).await?;
    let epoch = Epoch::find(&rows, sent)?.ok_or_else(row::missing_row)?;
    if epoch.start != connection.session.start {
        return Err(errors::session_moved());
    }
    Ok(epoch)
}
