//! A session with the ensemble: its requests, its proofs, and the locks that it holds.

pub(crate) mod connection;
pub(crate) mod holds;
pub(crate) mod late;
pub(crate) mod request_limit;
pub(crate) mod unanswered;

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    BootInstant, Clock, Effect, Error, ErrorKind, LostCause, Result, backend::SentAt, toolkit::Lock,
};
use tokio::{sync::Notify, time::timeout};
use zookeeper_client::{Client, Error as ZkError, SessionState, StateWatcher};

use self::{
    connection::Connection,
    holds::{HeldNode, Holds},
    request_limit::{RequestLimit, RequestSlot},
    unanswered::Unanswered,
};
use crate::{
    config::ZkConfig,
    errors,
    keys::Format,
    liveness::{
        proof::{Proof, SessionTimes},
        tracker::LivenessTracker,
    },
    queue::{list_batch::ListBatcher, sequence_cache::SequenceCache},
    watch::WatchBudget,
};

/// How long the driver may take to end a session.
const CLOSE_MAX: Duration = Duration::from_secs(2);

/// A request that waits for a slot this long requests a heartbeat, which frees the slots of unpolled futures.
const HEARTBEAT_AFTER: Duration = Duration::from_secs(1);

/// One session, from its beginning to its end.
pub(crate) struct Session {
    /// `None` when the session has ended: the driver ends it with its last client.
    client: Lock<Option<Client>>,
    id: i64,
    pub(crate) format: Format,
    request_timeout: Duration,
    pub(crate) clock: Clock,
    pub(crate) connection: Connection,
    /// Apart from the connection: each acquire makes a proof, and would wake all tasks that wait for the session's end.
    pub(crate) liveness: LivenessTracker,
    /// The limit of requests in flight, without heartbeats.
    pub(crate) limit: RequestLimit,
    pub(crate) holds: Holds,
    /// Notified of each lock that is granted.
    pub(crate) granted: Notify,
    pub(crate) unanswered: Unanswered,
    /// The attempts in progress.
    active: AtomicUsize,
    pub(crate) watches: Arc<WatchBudget>,
    pub(crate) lists: ListBatcher,
    pub(crate) sequences: SequenceCache,
}

/// An attempt in progress, until it is dropped.
pub(crate) struct Active<'a>(&'a Session);

impl Session {
    /// The session of `client`, which was created after `began`. It follows the driver's connection from now on.
    pub(crate) fn begin(
        client: Client,
        began: SentAt,
        config: &ZkConfig,
        times: SessionTimes,
    ) -> Arc<Self> {
        let states = client.state_watcher();
        let clock = Clock::boottime();
        let session = Arc::new(Self {
            id: client.session_id().0,
            format: config.format,
            request_timeout: config.timeouts.reply,
            connection: Connection::first(),
            liveness: LivenessTracker::since(began.instant(), times, clock.clone()),
            lists: ListBatcher::new(clock.clone(), config.timeouts.reply),
            clock,
            limit: RequestLimit::default(),
            holds: Holds::default(),
            granted: Notify::new(),
            unanswered: Unanswered::default(),
            active: AtomicUsize::new(0),
            watches: WatchBudget::new(&config.chroot),
            sequences: SequenceCache::default(),
            client: Lock::new(Some(client)),
        });
        tokio::spawn(follow(session.clone(), states));
        session
    }

    /// The driver's client.
    ///
    /// # Errors
    ///
    /// The session has ended.
    pub(crate) fn client(&self) -> Result<Client, ZkError> {
        self.client.lock().clone().ok_or(ZkError::SessionExpired)
    }

    /// Sends a request when a slot is free, and awaits its answer, each within the request time-out. `Throttled` if
    /// nothing was sent. The driver sends when its methods are called, polled or not: so `request` calls them.
    pub(crate) async fn request<T, F>(&self, request: impl FnOnce() -> F) -> Result<T, ZkError>
    where
        F: Future<Output = Result<T, ZkError>>,
    {
        // Boxed here and below: the futures of acquires and releases stay small.
        let _slot = match self.limit.try_slot() {
            Some(slot) => slot,
            None => Box::pin(self.slot()).await?,
        };
        let reply = Box::pin(request());
        self.await_reply(reply).await
    }

    async fn slot(&self) -> Result<RequestSlot<'_>, ZkError> {
        let mut slot = pin!(self.limit.slot());
        tokio::select! {
            biased;
            slot = slot.as_mut() => return Ok(slot),
            () = tokio::time::sleep(HEARTBEAT_AFTER.min(self.request_timeout)) => {
                self.liveness.request_heartbeat();
            }
            () = self.connection.ended() => return Err(ZkError::SessionExpired),
        }
        tokio::select! {
            slot = timeout(self.request_timeout, slot) => slot.map_err(|_| ZkError::Throttled),
            () = self.connection.ended() => Err(ZkError::SessionExpired),
        }
    }

    /// Awaits an answer of the driver within the request time-out. It needs no slot: heartbeats go first.
    pub(crate) async fn await_reply<T>(
        &self,
        request: impl Future<Output = Result<T, ZkError>>,
    ) -> Result<T, ZkError> {
        timeout(self.request_timeout, request)
            .await
            .unwrap_or(Err(ZkError::Timeout))
            .inspect_err(|error| {
                if errors::ends_session(error) {
                    self.end();
                }
            })
    }

    /// Whether a node with this owner is of this session. If a node that was just created is not, the server has
    /// silently given the client another session (T44).
    pub(crate) fn owns(&self, owner: i64) -> bool {
        owner == self.id
    }

    /// Waits for a proof sent after `than`; requests a heartbeat if there is none yet.
    ///
    /// # Errors
    ///
    /// `Unavailable` when the session has ended, or none came in time.
    pub(crate) async fn proof_after(&self, than: BootInstant) -> Result<Proof> {
        if self.has_ended() {
            return Err(errors::session_ended());
        }
        let proved = async {
            tokio::select! {
                biased;
                proof = self.liveness.proof_after(than) => proof,
                () = self.connection.ended() => None,
            }
        };
        match timeout(self.request_timeout, proved).await {
            Ok(proof) => proof.ok_or_else(errors::session_ended),
            Err(_) => Err(
                Error::new(ErrorKind::Unavailable, "no write was confirmed in time")
                    .with_effect(Effect::Unknown),
            ),
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.connection.has_ended()
    }

    /// Ends the session: its locks are lost, and nothing is sent any more.
    pub(crate) fn end(&self) {
        self.end_because(LostCause::SessionEnded);
    }

    fn end_because(&self, cause: LostCause) {
        drop(self.client.lock().take());
        // An attempt that enters the table later sees that the session has ended.
        self.connection.set_ended();
        for node in self.holds.take() {
            node.attempt.report_lost(cause);
        }
    }

    /// Ends the session and waits until the servers know, for [`CLOSE_MAX`] at most. Then its locks are free.
    pub(crate) async fn close(&self) {
        let states = self.client.lock().as_ref().map(Client::state_watcher);
        self.end_because(LostCause::Closed);
        let Some(mut states) = states else { return };
        let closed = async { while !states.changed().await.is_terminated() {} };
        let _ = timeout(CLOSE_MAX, closed).await;
    }

    /// Keeps the heartbeats running while an attempt is in progress.
    pub(crate) fn keep_active(&self) -> Active<'_> {
        self.active.fetch_add(1, Ordering::AcqRel);
        Active(self)
    }

    /// Adds a lock that is granted; false if the session has ended.
    pub(crate) fn hold(&self, node: &Arc<HeldNode>) -> bool {
        self.holds.insert(node);
        self.granted.notify_one();
        // A session that ended before the insertion has not reported this lock as lost.
        let is_alive = !self.has_ended();
        if !is_alive {
            self.holds.remove(node);
        }
        is_alive
    }

    /// Whether no attempt and no lock needs a proof.
    pub(crate) fn is_idle(&self) -> bool {
        self.active.load(Ordering::Acquire) == 0 && self.holds.is_empty()
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Follows the driver's connection until the session has ended.
async fn follow(session: Arc<Session>, mut states: StateWatcher) {
    loop {
        let state = tokio::select! {
            state = states.changed() => state,
            () = session.connection.ended() => return,
        };
        match state {
            SessionState::SyncConnected => session.connection.set_connected(),
            state if state.is_terminated() => return session.end(),
            _ => session.connection.set_disconnected(),
        }
    }
}
