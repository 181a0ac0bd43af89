//! A session with the ensemble.

pub(crate) mod holds;
pub(crate) mod request_limit;

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
use tokio::{
    sync::{Notify, watch},
    time::timeout,
};
use zookeeper_client::{Client, Error as ZkError, SessionState, StateWatcher};

use crate::config::ZkConfig;
use crate::conn::heartbeat;
use crate::errors;
use crate::hold::Entry;
use crate::hold::verify_unwatched as rounds;
use crate::liveness::contact::Told;
use crate::liveness::proof::Proof;
use crate::liveness::proof::Times;
use crate::liveness::proof::Verdict;
use crate::liveness::proof::Writing;
use crate::queue::list_batch::Looks;
use crate::queue::sequence_cache::Known;
use crate::session::holds::Held;
use crate::session::request_limit::Flow;
use crate::session::request_limit::Place;
use crate::watch::Watches;

/// How long the driver may take to end a session.
const CLOSE_MAX: Duration = Duration::from_secs(2);

/// Whoever waits for longer than this until it may ask has a heartbeat made: it frees what nobody polls.
const PLACE_FREE_AFTER: Duration = Duration::from_secs(1);

/// One session, from its beginning to its end.
pub(crate) struct Session {
    /// Gone when the session is over: then the driver ends it.
    client: Lock<Option<Client>>,
    id: i64,
    pub(crate) times: Times,
    answer_max: Duration,
    /// The requests under way, but for heartbeats.
    pub(crate) flow: Flow,
    pub(crate) clock: Clock,
    state: watch::Sender<State>,
    /// The one that lasts longest. Beside the state, as each acquire makes one, and would wake all who
    /// wait for the session's end.
    proof: watch::Sender<Option<Proof>>,
    told: Lock<Told>,
    pub(crate) held: Held,
    pub(crate) watches: Arc<Watches>,
    /// Attempts under way.
    busy: AtomicUsize,
    /// The queues that are to be looked at.
    pub(crate) looks: Looks,
    /// The queues that need not be.
    pub(crate) known: Known,
    /// Somebody needs a proof now.
    pub(crate) demand: Notify,
}

/// What is known of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// Counts the connections.
    pub(crate) connection: u64,
    pub(crate) is_connected: bool,
    pub(crate) is_over: bool,
}

/// An attempt under way, until it is dropped.
pub(crate) struct Busy<'a>(&'a Session);

impl Session {
    /// Takes over `client`, which did not exist at `began`, and starts the tasks that live as long as the
    /// session.
    pub(crate) fn begin(client: Client, began: SentAt, config: &ZkConfig) -> Arc<Self> {
        let states = client.state_watcher();
        let session = Arc::new(Self {
            id: client.session_id().0,
            times: Times {
                timeout: client.session_timeout(),
                tick: config.tick,
            },
            answer_max: config.answer_max,
            flow: Flow::default(),
            clock: Clock::boottime(),
            state: watch::Sender::new(State {
                connection: 1,
                is_connected: true,
                is_over: false,
            }),
            proof: watch::Sender::new(None),
            told: Lock::new(Told::since(began.instant())),
            held: Held::default(),
            watches: Watches::new(&config.chroot),
            busy: AtomicUsize::new(0),
            looks: Looks::default(),
            known: Known::default(),
            demand: Notify::new(),
            client: Lock::new(Some(client)),
        });
        tokio::spawn(follow(session.clone(), states));
        tokio::spawn(heartbeat::run(session.clone(), config.clone()));
        tokio::spawn(rounds::run(session.clone()));
        session
    }

    /// The driver's client.
    ///
    /// # Errors
    ///
    /// The session is over.
    pub(crate) fn client(&self) -> Result<Client, ZkError> {
        self.client.lock().clone().ok_or(ZkError::SessionExpired)
    }

    /// Asks when fewer are asking than may at once, and awaits the answer, each for the time that an answer may
    /// take; `Throttled` when nothing was asked. The driver sends what its methods return at once, polled or not: so
    /// they are called in here.
    pub(crate) async fn ask<T, F>(&self, request: impl FnOnce() -> F) -> Result<T, ZkError>
    where
        F: Future<Output = Result<T, ZkError>>,
    {
        let _place = self.place().await?;
        self.answer(request()).await
    }

    async fn place(&self) -> Result<Place<'_>, ZkError> {
        let mut place = pin!(self.flow.place());
        tokio::select! {
            biased;
            place = place.as_mut() => return Ok(place),
            () = tokio::time::sleep(PLACE_FREE_AFTER.min(self.answer_max)) => self.demand.notify_one(),
            () = self.over() => return Err(ZkError::SessionExpired),
        }
        tokio::select! {
            place = timeout(self.answer_max, place) => place.map_err(|_| ZkError::Throttled),
            () = self.over() => Err(ZkError::SessionExpired),
        }
    }

    /// Awaits an answer of the driver for the time that one may take. It takes no place: heartbeats go first.
    pub(crate) async fn answer<T>(
        &self,
        request: impl Future<Output = Result<T, ZkError>>,
    ) -> Result<T, ZkError> {
        timeout(self.answer_max, request)
            .await
            .unwrap_or(Err(ZkError::Timeout))
            .inspect_err(|error| {
                if errors::ends_session(error) {
                    self.end();
                }
            })
    }

    /// Whether a node with this owner is of this session; if a node that we have just made is not, the
    /// server has silently given us another session (T44).
    pub(crate) fn owns(&self, owner: i64) -> bool {
        owner == self.id
    }

    /// To be called before an exchange with the leader.
    pub(crate) fn writing(&self) -> Writing {
        // What is known before it is sent, so in this order.
        let told = self.told.lock().at();
        let sent = SentAt::now(&self.clock);
        Writing { sent, told }
    }

    /// The leader has answered, if only a `sync`.
    pub(crate) fn answered(&self, writing: Writing) {
        let sent = writing.sent.instant();
        self.told
            .lock()
            .answered(self.times, sent, self.clock.now());
    }

    /// The write is acknowledged now.
    pub(crate) fn acknowledged(&self, writing: Writing) -> Verdict {
        let Writing { sent, told } = writing;
        let verdict = self.times.judge(sent.instant(), told, self.clock.now());
        self.answered(writing);
        if let Verdict::Lives(ttl) = verdict {
            let proof = Proof { sent, ttl };
            self.proof.send_if_modified(|known| {
                // Of two that end together the later one counts for those who ask for a fresh one.
                let rank = |proof: Proof| (proof.end(), proof.sent.instant());
                let lasts = known.is_none_or(|known| rank(known) < rank(proof));
                if lasts {
                    *known = Some(proof);
                }
                lasts
            });
        }
        verdict
    }

    /// A proof sent after `than`, for which one more write is made if there is none yet.
    ///
    /// # Errors
    ///
    /// `Unavailable` when the session is over, or none came in time.
    pub(crate) async fn proof_after(&self, than: BootInstant) -> Result<Proof> {
        let newer = |proof: &Option<Proof>| proof.filter(|proof| proof.sent.instant() > than);
        if self.is_over() {
            return Err(over());
        }
        if let Some(proof) = newer(&self.proof.borrow()) {
            return Ok(proof);
        }
        let mut proofs = self.proof.subscribe();
        self.demand.notify_one();
        let proved = async {
            tokio::select! {
                // The sender is in `self`: there is no other error.
                proof = proofs.wait_for(|proof| newer(proof).is_some()) => proof.ok().and_then(|proof| *proof),
                () = self.over() => None,
            }
        };
        match timeout(self.answer_max, proved).await {
            Ok(proof) => proof.ok_or_else(over),
            Err(_) => Err(
                Error::new(ErrorKind::Unavailable, "no write was confirmed in time")
                    .with_effect(Effect::Unknown),
            ),
        }
    }

    pub(crate) fn state(&self) -> State {
        *self.state.borrow()
    }

    /// Ends when that connection has, or the session.
    pub(crate) async fn disturbed(&self, connection: u64) {
        self.until(|state| state.is_over || !state.is_connected || state.connection != connection)
            .await;
    }

    /// Ends when there is a connection, or the session is over.
    pub(crate) async fn reachable(&self) {
        self.until(|state| state.is_over || state.is_connected)
            .await;
    }

    /// Ends with the session.
    pub(crate) async fn over(&self) {
        self.until(|state| state.is_over).await;
    }

    async fn until(&self, look: impl FnMut(&State) -> bool) {
        // The sender is in `self`: there is no other error.
        let _ = self.state.subscribe().wait_for(look).await;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state().is_over
    }

    /// The session is over, whoever says so: its locks are lost, and nothing is asked any more.
    pub(crate) fn end(&self) {
        self.end_because(LostCause::SessionEnded);
    }

    fn end_because(&self, cause: LostCause) {
        drop(self.client.lock().take());
        // Whoever comes into the table after this sees that it is over.
        self.state.send_modify(|state| state.is_over = true);
        for entry in self.held.take() {
            entry.attempt.report_lost(cause);
        }
    }

    /// Ends the session and waits until the servers know, for [`CLOSE_MAX`] at most: what is held is
    /// free then.
    pub(crate) async fn close(&self) {
        let states = self.client.lock().as_ref().map(Client::state_watcher);
        self.end_because(LostCause::Closed);
        let Some(mut states) = states else { return };
        let closed = async { while !states.changed().await.is_terminated() {} };
        let _ = timeout(CLOSE_MAX, closed).await;
    }

    /// Keeps the heartbeats running while an attempt is under way.
    pub(crate) fn busy(&self) -> Busy<'_> {
        self.busy.fetch_add(1, Ordering::AcqRel);
        Busy(self)
    }

    /// Takes in what is granted; false if the session is over.
    pub(crate) fn hold(&self, entry: &Arc<Entry>) -> bool {
        self.held.insert(entry);
        // Ended before it was in the table: then nobody told it.
        let lives = !self.is_over();
        if !lives {
            self.held.remove(entry);
        }
        lives
    }

    /// Whether nobody needs a proof.
    pub(crate) fn is_idle(&self) -> bool {
        self.busy.load(Ordering::Acquire) == 0 && self.held.is_empty()
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The session is over.
pub(crate) fn over() -> Error {
    errors::of_request(ZkError::SessionExpired)
}

/// Follows the driver's connection.
async fn follow(session: Arc<Session>, mut states: StateWatcher) {
    loop {
        let state = tokio::select! {
            state = states.changed() => state,
            () = session.over() => return,
        };
        match state {
            SessionState::SyncConnected => session.state.send_modify(|state| {
                state.is_connected = true;
                state.connection += 1;
            }),
            state if state.is_terminated() => return session.end(),
            _ => session
                .state
                .send_modify(|state| state.is_connected = false),
        }
    }
}
