//! Waiting for a row that is locked, in the server's own queue.

use std::time::Duration;

use dlock_core::{
    Error, ErrorKind, Result,
    backend::{AcquireRequest, Lease},
};

use crate::{
    acquire::{
        attempt::{Answer, Errand, Taken},
        blocked,
    },
    conn::{
        connection::{Link, Row},
        pool::{QUEUE_MAX, Seat},
    },
    errors,
    hold::Carrier,
};

/// A server that cannot be asked is tried again after this,
const RETRY_MIN: Duration = Duration::from_millis(50);

/// which doubles up to this.
const RETRY_MAX: Duration = Duration::from_secs(1);

/// Waits until the lock is granted or the attempt is cancelled; then its statement is killed and its
/// connection closed, within `connect_timeout` and `timeout`.
pub(crate) async fn wait(errand: &Errand<'_>, seat: Seat) -> Result<Lease> {
    let (request, session) = (errand.request, errand.session());
    let mut pause = RETRY_MIN;
    loop {
        let error = match errand.try_now(seat.clone()).await {
            Ok(Ok(lease)) => return Ok(lease),
            Ok(Err(taken)) => {
                if !errand.was_behind() {
                    request.attempt.report_contended();
                }
                pause = RETRY_MIN;
                match queue(errand, taken).await {
                    Ok(Some(lease)) => return Ok(lease),
                    // Another client deleted old rows: the next try inserts the row again.
                    Ok(None) if request.attempt.is_cancelled() => return Err(Error::cancelled()),
                    Ok(None) => continue,
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        if request.attempt.is_cancelled() {
            return Err(error);
        }
        match error.kind() {
            // In the queue for as long as a statement may be.
            ErrorKind::Contended => {}
            ErrorKind::Unavailable if !session.is_closed() => {
                tracing::debug!(%error, "waiting goes on");
                request.attempt.report_unavailable(&error);
                sleep(request, pause).await;
                pause = (pause * 2).min(RETRY_MAX);
            }
            _ => return Err(error),
        }
        if request.attempt.is_cancelled() {
            return Err(Error::cancelled());
        }
    }
}

/// Waits for the row on the connection; `None` when there is no such row any more.
async fn queue(errand: &Errand<'_>, Taken(mut carrier): Taken) -> Result<Option<Lease>> {
    let sent = errand.request.sent_now();
    let granted = match ask(errand, &mut carrier.link).await {
        Ok(rows) => match Answer::read(&rows, sent) {
            Ok(Some(answer)) => errand
                .grant(&mut carrier.link, answer, sent)
                .await
                .map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    match granted {
        Ok(Some(grant)) => Ok(Some(errand.lease(carrier, grant))),
        Ok(None) => {
            leave(errand, carrier, None).await;
            Ok(None)
        }
        Err(error) => {
            leave(errand, carrier, Some(&error)).await;
            Err(error)
        }
    }
}

/// Sends what waits for the row, and awaits its end.
async fn ask(errand: &Errand<'_>, link: &mut Link) -> Result<Vec<Row>> {
    let request = errand.request;
    let (server, confirm_max) = (link.server, errand.confirm_max());
    let mut sql = errand.statement(link, confirm_max, "");
    errand.add_epoch(&mut sql);
    // Before the row it may wait for the table, and its server looks at the time once a second.
    let ask_max = QUEUE_MAX * 2 + errand.session().config().answer_max;
    let asking = async { link.ask_long(request.clock(), &sql).await };
    let rows = tokio::select! {
        rows = blocked::heard(errand, server, async { asking.await.map_err(errors::of_request) }) => rows,
        () = request.attempt.cancelled() => Err(Error::cancelled()),
        // A server that is cut off says nothing for ever.
        () = tokio::time::sleep(ask_max) => Err(errors::no_answer(ask_max)),
    };
    // What is said first is done, whatever becomes of the row.
    if link.is_clean() {
        link.silence_max = confirm_max;
    }
    rows
}

/// Leaves the queue: a closed socket alone would be noticed only when its turn comes (T63).
async fn leave(errand: &Errand<'_>, carrier: Carrier, error: Option<&Error>) {
    let Carrier { mut link, seat } = carrier;
    let session = errand.session();
    if !link.is_clean() {
        let ended = match session.sessions() {
            Ok(sessions) => sessions.end_statement(link.server).await,
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a statement could not be ended; the server ends it by itself");
        }
    } else if error.is_some_and(errors::is_taken) {
        // The statement is undone, and the transaction with it: it would keep the table from others.
        let (clock, answer_max) = (&session.dialer.clock, session.config().answer_max);
        if link.ask(clock, "ROLLBACK", answer_max).await.is_ok() {
            session.keep(link);
        }
    }
    drop(seat);
}

async fn sleep(request: &AcquireRequest, after: Duration) {
    tokio::select! {
        () = tokio::time::sleep(after) => {}
        () = request.attempt.cancelled() => {}
    }
}
