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
        connection::{Link, Row},
        pool::{Seat, Session, silence},
    },
    errors,
    sql::server::{Server, is_on, number},
    token::epoch::{self, Epoch},
};

/// Restarts the server's clock of silence, and says whether this is still the session that holds
/// (T66) on a server that grants (T67). It touches no table: no statement of others stops it.
const HEARTBEAT: &str = "SELECT CONNECTION_ID(), @@global.read_only";

/// What carries a lease.
pub(crate) struct Held {
    pub(crate) attempt: Attempt,
    pub(crate) server: Server,
    /// After so long a silence the server ends the session.
    silence_max: Duration,
    /// The row.
    pub(crate) row: Vec<u8>,
    /// Who holds it, for those who ask.
    pub(crate) holder: Holder,
    /// Gone with the release, or with the session.
    carrier: Mutex<Option<Carrier>>,
    /// The session is known to hold nothing any more.
    over: AtomicBool,
}

pub(crate) struct Carrier {
    pub(crate) link: Link,
    pub(crate) seat: Seat,
}

/// What a heartbeat finds.
pub(crate) enum Beat {
    Alive,
    Lost(LostCause),
}

impl Held {
    pub(crate) fn new(attempt: Attempt, row: Vec<u8>, holder: Holder, carrier: Carrier) -> Self {
        Self {
            attempt,
            server: carrier.link.server,
            silence_max: Duration::from_secs(carrier.link.silence_max),
            row,
            holder,
            carrier: Mutex::new(Some(carrier)),
            over: AtomicBool::new(false),
        }
    }

    /// Renews by a heartbeat, if the session still holds.
    ///
    /// The heartbeat is a task of its own: a user's renewal that is left unpolled must not keep the
    /// connection from those of the locker. It ends by the bound of an answer.
    pub(crate) async fn renew(
        self: &Arc<Self>,
        session: &Arc<Session>,
        lease: &Lease,
    ) -> Result<Renewed> {
        session.check_open()?;
        let sent = lease.sent_now();
        let (held, session) = (self.clone(), session.clone());
        let beating = tokio::spawn(async move {
            let mut carrier = held.carrier.lock().await;
            match carrier.as_mut() {
                Some(Carrier { link, .. }) => beat(&session, link).await,
                None => Ok(Beat::Lost(LostCause::SessionEnded)),
            }
        });
        match beating.await.unwrap_or_else(errors::given_up)? {
            Beat::Alive => Ok(lease.renewed(sent, self.silence_max)),
            Beat::Lost(cause) => Ok(Renewed::Lost(cause)),
        }
    }

    /// Reads the row of the epoch for all, over the connection that holds: when the one that works with the
    /// tables cannot.
    pub(crate) async fn reads(self: &Arc<Self>, session: &Arc<Session>) -> Result<()> {
        let (held, session) = (self.clone(), session.clone());
        let reading = tokio::spawn(async move {
            let mut carrier = held.carrier.lock().await;
            let Some(Carrier { link, .. }) = carrier.as_mut() else {
                return Err(errors::gone());
            };
            let (clock, answer_max) = (&session.dialer.clock, session.config().answer_max);
            let asked = clock.now();
            let rows = link.ask(clock, &epoch::ask(), answer_max).await?;
            let epoch = Epoch::among(&rows, asked)?.ok_or_else(epoch::no_row)?;
            if epoch.boot != held.server.boot {
                return Err(errors::moved());
            }
            session.latest.learn(epoch);
            Ok(())
        });
        reading.await.unwrap_or_else(errors::given_up)
    }

    /// Tells of a loss if its own connection knows of one. It proves no hold: nothing counts from it.
    pub(crate) async fn check(&self, session: &Session) {
        // One that is in use finds out by itself.
        let Ok(mut carrier) = self.carrier.try_lock() else {
            return;
        };
        if let Some(Carrier { link, .. }) = carrier.as_mut()
            && let Ok(Beat::Lost(cause)) = beat(session, link).await
        {
            self.attempt.report_lost(cause);
        }
    }

    /// Frees the row. Whatever is in doubt is closed, and its session killed.
    pub(crate) async fn release(&self, session: &Session) -> Result<()> {
        // A heartbeat on its way ends first, or is given up by core.
        let mut carrier = self.carrier.lock().await;
        // Taken out: if this future is dropped, the socket is closed with it.
        if let Some(Carrier { mut link, seat }) = carrier.take()
            && link.is_clean()
        {
            let config = session.config();
            let clock = &session.dialer.clock;
            if link.commit(clock, config.answer_max).await.is_ok() {
                self.over.store(true, Ordering::Release);
                session.keep(link);
                // Not before: who comes next finds the connection.
                drop(seat);
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
pub(crate) async fn beat(session: &Session, link: &mut Link) -> Result<Beat> {
    ask(session, link, HEARTBEAT).await
}

/// The first heartbeat after a grant that was waited for: the session, which had little time until it, is
/// ended after `silence_max` seconds from now on.
pub(crate) async fn confirm(session: &Session, link: &mut Link, silence_max: u64) -> Result<Beat> {
    let sql = format!("SET SESSION {}; {HEARTBEAT}", silence(silence_max));
    let beat = ask(session, link, &sql).await?;
    link.silence_max = silence_max;
    Ok(beat)
}

async fn ask(session: &Session, link: &mut Link, sql: &str) -> Result<Beat> {
    let (clock, answer_max) = (&session.dialer.clock, session.config().answer_max);
    match link.ask(clock, sql, answer_max).await {
        Ok(rows) => found(rows.first(), link.server),
        Err(error) if errors::ends_session(&error) => Ok(Beat::Lost(LostCause::SessionEnded)),
        Err(error) => Err(error),
    }
}

fn found(row: Option<&Row>, server: Server) -> Result<Beat> {
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
        let server = Server {
            connection: 7,
            ..Server::default()
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
