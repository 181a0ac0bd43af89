//! One attempt, from its place in the queue to its grant.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Error, ErrorKind, Result,
    backend::{AcquireRequest, Lease, Renewal, Wait},
};
use zookeeper_client::Error as ZkError;

use crate::acquire::enqueue as take;
use crate::acquire::enqueue::Queued;
use crate::acquire::enqueue::Seen;
use crate::config::ZkConfig;
use crate::conn::reconnect::Sessions;
use crate::errors;
use crate::hold::Entry;
use crate::keys::Place;
use crate::keys::token;
use crate::liveness::proof::Proof;
use crate::queue::order as queue;
use crate::queue::order::Position;
use crate::session;
use crate::session::Session;
use crate::watch::Purpose;

/// Servers that cannot be asked are tried again after this.
const RETRY: Duration = Duration::from_millis(200);

/// Where there is no room for another watch, the queue is looked at as often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A try without waiting is begun anew this often when a session turns out to be over.
const SESSIONS_MAX: u32 = 3;

/// A proof that has less than this part of its time left is renewed before the grant.
const FRESH_PART: u32 = 2;

/// The same for a lock without renewal, in parts of the time that a proof lasts.
const FRESH_PART_ALONE: u32 = 12;

/// Takes the lock, or waits for it; over as many sessions as it takes. After a cancellation the node is
/// deleted, within the time-out of the session, which deletes it otherwise.
pub(crate) async fn acquire(sessions: &Arc<Sessions>, request: &AcquireRequest) -> Result<Lease> {
    let waits = request.wait == Wait::UntilCancelled;
    let mut begun = 0;
    loop {
        begun += 1;
        let error = match sessions.get().await {
            Ok(session) => match once(&session, &sessions.config, request).await {
                Err(error) if session.is_over() && (waits || begun < SESSIONS_MAX) => error,
                answer => return answer,
            },
            Err(error) if waits && error.kind() == ErrorKind::Unavailable => error,
            Err(error) => return Err(error),
        };
        if request.attempt.is_cancelled() || sessions.is_closed() {
            return Err(error);
        }
        tracing::debug!(%error, "the attempt begins anew");
        request.attempt.report_unavailable(&error);
        if waits {
            tokio::select! {
                () = tokio::time::sleep(RETRY) => {}
                () = request.attempt.cancelled() => {}
            }
        }
    }
}

/// One attempt in one session; its node is gone when it fails.
async fn once(
    session: &Arc<Session>,
    config: &ZkConfig,
    request: &AcquireRequest,
) -> Result<Lease> {
    let place = Place::new(&config.prefix, &request.name, request.attempt.id());
    let _busy = session.busy();
    if let Some(entry) = session.held.find(request.attempt.id()) {
        return grant(session, request, entry).await;
    }
    let mut queued = take::enter(session, config, &place, request).await?;
    loop {
        let granted = match until_first(session, &place, request, &mut queued).await {
            Ok(true) => {
                let attempt = request.attempt.clone();
                let entry = Entry::new(session.clone(), attempt, &place, &queued);
                grant(session, request, Arc::new(entry)).await
            }
            // Somebody removed our node: a new place at the end.
            Ok(false) => {
                queued = take::enter(session, config, &place, request).await?;
                continue;
            }
            Err(error) => Err(error),
        };
        if granted.is_err() {
            take::delete_surely(session, &place.path(&queued.name)).await;
        }
        return granted;
    }
}

/// Waits until our node is the first, or answers `Contended` if it shall not wait; false when the node
/// is gone.
async fn until_first(
    session: &Session,
    place: &Place,
    request: &AcquireRequest,
    queued: &mut Queued,
) -> Result<bool> {
    let waits = request.wait == Wait::UntilCancelled;
    loop {
        if request.attempt.is_cancelled() {
            return Err(Error::cancelled());
        }
        let looked = match std::mem::take(&mut queued.seen) {
            Seen::First => return Ok(true),
            Seen::Queue(children) => Ok(children),
            Seen::Nothing => list(session, place).await,
        };
        let connection = session.state().connection;
        let watched = match looked {
            Ok(children) => match queue::position(&children, &queued.name)? {
                Position::First => return Ok(true),
                Position::Gone => return Ok(false),
                Position::After(_) if !waits => return Err(Error::contended()),
                Position::After(before) => {
                    request.attempt.report_contended();
                    watch(session, &place.path(&before), connection, request).await
                }
            },
            Err(error) => Err(error),
        };
        match watched {
            Ok(()) => {}
            Err(_) if session.is_over() => return Err(session::over()),
            Err(error) if waits && errors::is_transient(&error) => {
                tracing::debug!(%error, "waiting goes on");
                request
                    .attempt
                    .report_unavailable(&errors::of_request(error));
                tokio::select! {
                    () = reconnected(session) => {}
                    () = request.attempt.cancelled() => {}
                }
            }
            Err(error) => return Err(errors::of_request(error)),
        }
    }
}

/// The queue. No server gives us one that is older than our place in it, which it has confirmed: whoever
/// is not before us then never will be.
async fn list(session: &Session, place: &Place) -> Result<Vec<String>, ZkError> {
    let client = session.client()?;
    match session.ask(|| client.list_children(&place.dir)).await {
        // Somebody removed the whole lock.
        Err(ZkError::NoNode) => Ok(Vec::new()),
        children => children,
    }
}

/// Waits until the node before ours is gone or was written to: nobody else is woken by that (T47).
async fn watch(
    session: &Session,
    path: &str,
    connection: u64,
    request: &AcquireRequest,
) -> Result<(), ZkError> {
    let client = session.client()?;
    let Some(allowed) = session.watches.allow(&client, path, Purpose::Wait) else {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = request.attempt.cancelled() => {}
        }
        return Ok(());
    };
    let watcher = match session.ask(|| client.get_and_watch_data(path)).await {
        Err(ZkError::NoNode) => return Ok(()),
        watched => watched?.2,
    };
    tokio::select! {
        _ = allowed.watch(watcher).event() => Ok(()),
        () = request.attempt.cancelled() => Ok(()),
        // The driver watches on over the next connection, but says nothing of this one's end.
        () = session.disturbed(connection) => Err(ZkError::ConnectionLoss),
    }
}

async fn reconnected(session: &Session) {
    tokio::time::sleep(RETRY).await;
    session.reachable().await;
}

/// Our node is the first: from when is that proved? From its own creation if that was just now, else
/// from the last heartbeat.
async fn grant(session: &Session, request: &AcquireRequest, entry: Arc<Entry>) -> Result<Lease> {
    let proof = proof(session, request).await?;
    let token = token(entry.czxid)?;
    let lease = request.granted(proof.sent, proof.ttl, token, entry.clone());
    entry.tell(proof.sent.instant(), lease.deadline.instant());
    if session.hold(&entry) {
        Ok(lease)
    } else {
        Err(session::over())
    }
}

/// A proof that is fresh; whoever waits, waits for it too (K6).
async fn proof(session: &Session, request: &AcquireRequest) -> Result<Proof> {
    let fresh = match request.renewal {
        Renewal::Auto => session.times.ttl() / FRESH_PART,
        // Nobody makes it longer later: it begins with the grant (K6).
        Renewal::None => session.times.ttl() / FRESH_PART_ALONE,
    };
    let waits = request.wait == Wait::UntilCancelled;
    loop {
        let proof = tokio::select! {
            proof = session.proof_after(session.clock.now().before(fresh)) => proof,
            () = request.attempt.cancelled() => return Err(Error::cancelled()),
        };
        match proof {
            Err(error) if waits && !session.is_over() => request.attempt.report_unavailable(&error),
            proof => return proof,
        }
    }
}
