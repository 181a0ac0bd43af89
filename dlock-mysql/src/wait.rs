//! Waiting for a row that is locked, in the server's own queue.

use std::time::Duration;

use dlock_core::{AcquireRequest, Error, ErrorKind, Lease, Result};

use crate::{
    errors,
    held::Carrier,
    session::{QUEUE_MAX, Seat},
    take::{Answer, Errand, Taken},
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
                request.attempt.taken();
                pause = RETRY_MIN;
                match queue(errand, taken).await {
                    Ok(lease) => return Ok(lease),
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
                request.attempt.unreachable(&error);
                sleep(request, pause).await;
                pause = (pause * 2).min(RETRY_MAX);
            }
            _ => return Err(error),
        }
        if request.attempt.is_cancelled() {
            return Err(Error::contended());
        }
    }
}

/// Waits for the row on the connection.
async fn queue(errand: &Errand<'_>, Taken(mut carrier): Taken) -> Result<Lease> {
    let granted = {
        let request = errand.request;
        let link = &mut carrier.link;
        let sent = request.start();
        let mut sql = errand.statement(link, "");
        errand.add_epoch(&mut sql);
        let answer_max = errand.session().config().answer_max;
        tokio::select! {
            rows = link.ask_long(request.clock(), &sql) => rows.map_err(errors::of_request),
            () = request.attempt.cancelled() => Err(Error::contended()),
            // A server that is cut off says nothing for ever.
            () = tokio::time::sleep(QUEUE_MAX + answer_max) => {
                Err(errors::no_answer(QUEUE_MAX + answer_max))
            }
        }
        .map(|rows| (rows, sent))
    };
    let granted = match granted {
        Ok((rows, sent)) => match Answer::read(&rows, sent) {
            Ok(Some(answer)) => errand.grant(&mut carrier.link, answer, sent).await,
            // Somebody cleared old rows: it is made anew.
            Ok(None) => Err(Error::contended()),
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    match granted {
        Ok(grant) => Ok(errand.lease(carrier, grant)),
        Err(error) => {
            leave(errand, carrier).await;
            Err(error)
        }
    }
}

/// Leaves the queue: a closed socket alone would be noticed only when its turn comes (T63).
async fn leave(errand: &Errand<'_>, carrier: Carrier) {
    if !carrier.link.is_clean()
        && let Ok(control) = errand.session().control()
        && let Err(error) = control.end_statement(carrier.link.server).await
    {
        tracing::debug!(%error, "a statement could not be ended; the server ends it by itself");
    }
    drop(carrier);
}

async fn sleep(request: &AcquireRequest, after: Duration) {
    tokio::select! {
        () = tokio::time::sleep(after) => {}
        () = request.attempt.cancelled() => {}
    }
}
