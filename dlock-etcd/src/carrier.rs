//! A lease of etcd: what carries the places of attempts, which end with it.
//!
//! Called so because *lease* is dlock's word for a grant. A carrier is kept alive by its own loop: the
//! driver's stream neither comes back nor has a time-out (T21).

use std::{
    collections::HashMap,
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{Attempt, AttemptId, Effect, Error, LostCause, Moment, Result, Sent};
use etcd_client::{Client, LeaseGrantOptions};
use tokio::{
    sync::{Notify, watch},
    time::timeout,
};

use crate::{
    errors,
    session::{Pause, Session},
};

/// It is kept alive after this part of its ttl, so that many tries fit in.
const KEEP_PART: u32 = 6;

/// Whether it is used at all is looked at as often at least, however long its ttl (K12).
const UNUSED_LOOK_EVERY: Duration = Duration::from_secs(5);

/// A keep-alive is given up after this part of its ttl.
const TRY_PART: u32 = 4;

/// A renewal of a lock is proved by a keep-alive that is no older than this part.
const FRESH_PART: u32 = 4;

/// Waiting may eat this part of a ttl that nobody renews.
const EATEN_PART: u32 = 20;

/// The server looks for ended leases twice a second, and this is what it may be late besides.
const END_SLACK: Duration = Duration::from_secs(2);

/// A lease whose grant was not answered is recalled for so long; then it ends by itself.
const RECALL_MAX: Duration = Duration::from_secs(60);

/// A lease in the store.
pub(crate) struct Carrier {
    session: Arc<Session>,
    id: i64,
    /// How long the store keeps it without a keep-alive.
    pub(crate) granted: Duration,
    state: watch::Sender<State>,
    /// Whether it has things on it that are only gone with it.
    retired: AtomicBool,
    /// Who stands on it; those that hold a lock are told when it ends.
    users: Mutex<HashMap<AttemptId, Option<Attempt>>>,
    /// Asks the loop for a keep-alive now.
    wanted: Notify,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// When the last keep-alive was sent that the store has confirmed.
    acked: Sent,
    /// Nothing is granted on it any more; it has ended in the store by then.
    over: Option<Moment>,
}

/// Why the loop has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// The lease is over.
    Over,
    /// Nobody needs it.
    Unused,
}

impl Carrier {
    /// Asks the store for a lease of `ttl`, in whole seconds. The identity is ours, so that a grant
    /// whose answer is lost can be asked for again, and revoked (T33).
    pub(crate) async fn grant(session: &Arc<Session>, ttl: Duration) -> Result<Self> {
        let id = rand::random_range(1..=i64::MAX);
        let asked = Duration::from_secs(whole_seconds(ttl));
        let granted = grant(session, id, asked).await;
        if granted.as_ref().is_err_and(is_doubtful) {
            tokio::spawn(timeout(RECALL_MAX, recall(session.clone(), id)));
        }
        let (acked, granted) = granted?;
        Ok(Self {
            session: session.clone(),
            id,
            granted,
            state: watch::Sender::new(State { acked, over: None }),
            retired: AtomicBool::new(false),
            users: Mutex::default(),
            wanted: Notify::new(),
        })
    }

    /// Its identity in the store.
    pub(crate) fn id(&self) -> i64 {
        self.id
    }

    /// Puts an attempt on it.
    pub(crate) fn enter(&self, id: AttemptId) {
        self.users().entry(id).or_default();
    }

    /// The attempt holds a lock now, and is told if the lease ends.
    pub(crate) fn hold(&self, attempt: &Attempt) {
        self.users().insert(attempt.id(), Some(attempt.clone()));
        if self.is_over() {
            attempt.lost(LostCause::SessionOver);
        }
    }

    /// The attempt needs it no longer.
    pub(crate) fn leave(&self, id: AttemptId) {
        self.users().remove(&id);
    }

    pub(crate) fn is_used(&self) -> bool {
        !self.users().is_empty()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state.borrow().over.is_some()
    }

    /// Takes no new attempts; it ends when the last one has left it.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }

    /// Whether new attempts may stand on it.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_over() && !self.retired.load(Ordering::Acquire)
    }

    /// Whether it has ended in the store, with all that stood on it.
    pub(crate) fn has_ended(&self) -> bool {
        let over = self.state.borrow().over;
        over.is_some_and(|over| over <= self.session.clock.now())
    }

    /// Ends when nothing is granted on it any more.
    pub(crate) async fn over(&self) {
        let mut state = self.state.subscribe();
        // The sender lives as long as `self`.
        let _ = state.wait_for(|state| state.over.is_some()).await;
    }

    /// The store has said that it is gone.
    pub(crate) fn is_gone(&self) {
        self.end(self.session.clock.now());
    }

    /// A keep-alive that is confirmed, recent enough to prove a renewal for `ttl`, which may be much
    /// less than what the store grants (T20); the loop is asked for one if it must be. `None` when the
    /// lease is over. Bounded by the lease's own end.
    pub(crate) async fn fresh(&self, ttl: Duration) -> Option<Sent> {
        let now = self.session.clock.now();
        self.acked_since(now.before(ttl.min(self.granted) / FRESH_PART))
            .await
    }

    /// As [`fresh`](Self::fresh), for a grant, of which at least half shall be left.
    pub(crate) async fn fresh_for(&self, ttl: Duration) -> Option<Sent> {
        let now = self.session.clock.now();
        self.acked_since(now.before(ttl.min(self.granted) / 2))
            .await
    }

    /// As [`fresh_for`](Self::fresh_for), where no loop runs and nobody will renew: it is kept alive
    /// once, if waiting has eaten more than a small part of `ttl` (K6).
    pub(crate) async fn proved_for(&self, ttl: Duration) -> Result<Option<Sent>> {
        let now = self.session.clock.now();
        let State { acked, over } = *self.state.borrow();
        if over.is_some() {
            return Ok(None);
        }
        if acked.moment() >= now.before(ttl / EATEN_PART) {
            return Ok(Some(acked));
        }
        self.keep_alive().await
    }

    async fn acked_since(&self, since: Moment) -> Option<Sent> {
        let mut states = self.state.subscribe();
        loop {
            let state = *states.borrow_and_update();
            if state.over.is_some() {
                return None;
            }
            // K2: the clock of the exchange that the store has answered, never our own.
            if state.acked.moment() >= since {
                return Some(state.acked);
            }
            self.wanted.notify_one();
            states.changed().await.ok()?;
        }
    }

    /// Keeps it alive until it is over, or `is_needed` says no.
    ///
    /// It is over when the store says so, and when no keep-alive was confirmed for its whole ttl: one
    /// that is confirmed later must not bring back what its holders have given up (K4).
    pub(crate) async fn keep(&self, is_needed: impl Fn() -> bool) -> Kept {
        let mut pause = Pause::new();
        let mut wait = self.granted / KEEP_PART;
        loop {
            let State { acked, .. } = *self.state.borrow();
            let end = acked.moment().after(self.granted);
            let due = self.session.clock.now().after(wait).min(end);
            tokio::select! {
                biased;
                () = self.unneeded_before(due, &is_needed) => return Kept::Unused,
                () = self.session.clock.sleep_until(due) => {}
                () = self.wanted.notified() => {}
            }
            let left = end.since(self.session.clock.now());
            if left.is_zero() {
                self.give_up();
                return Kept::Over;
            }
            match timeout(left, self.keep_alive()).await {
                Ok(Ok(Some(_))) => {
                    (pause, wait) = (Pause::new(), self.granted / KEEP_PART);
                }
                Ok(Ok(None)) => return Kept::Over,
                Ok(Err(error)) => {
                    tracing::debug!(%error, "a lease was not kept alive yet");
                    wait = pause.next().min(self.granted / KEEP_PART);
                }
                // Its end has come.
                Err(_) => wait = Duration::ZERO,
            }
        }
    }

    /// Ends when `is_needed` says no, which it is asked at `due` at the latest.
    async fn unneeded_before(&self, due: Moment, is_needed: &impl Fn() -> bool) {
        loop {
            let clock = &self.session.clock;
            clock
                .sleep_until(due.min(clock.now().after(UNUSED_LOOK_EVERY)))
                .await;
            if !is_needed() {
                return;
            }
            if clock.now() >= due {
                return std::future::pending().await;
            }
        }
    }

    /// One keep-alive, now; `None` when the lease is over.
    pub(crate) async fn keep_alive(&self) -> Result<Option<Sent>> {
        let max = (self.granted / TRY_PART).min(self.session.config.answer_max);
        match keep_alive(&self.session, self.id, max).await? {
            Some(acked) => {
                let later = |state: &mut State| state.acked = acked.max(state.acked);
                self.state.send_modify(later);
                Ok((!self.is_over()).then_some(acked))
            }
            None => {
                self.is_gone();
                Ok(None)
            }
        }
    }

    /// Ends it in the store, with all that stands on it; success also if it is gone already.
    pub(crate) async fn revoke(&self) -> Result<()> {
        self.revoke_noting(&AtomicBool::new(false)).await
    }

    /// As [`revoke`](Self::revoke); `doubtful` is set if a try of it may still be on its way.
    pub(crate) async fn revoke_noting(&self, doubtful: &AtomicBool) -> Result<()> {
        revoke(&self.session, self.id, doubtful).await?;
        self.is_gone();
        Ok(())
    }

    /// Tries to [`revoke`](Self::revoke) it until that is confirmed or it has ended by itself.
    pub(crate) async fn revoke_surely(&self) {
        self.give_up();
        until_done(self, || self.revoke()).await;
    }

    /// Nothing is kept alive any more: it ends by itself a ttl after the last keep-alive, which may
    /// have been sent just now.
    fn give_up(&self) {
        let now = self.session.clock.now();
        self.end(now.after(self.granted).after(END_SLACK));
    }

    /// It is over, and has ended in the store by `moment`.
    fn end(&self, moment: Moment) {
        self.state.send_modify(|state| {
            state.over = Some(state.over.map_or(moment, |over| over.min(moment)));
        });
        let users = std::mem::take(&mut *self.users());
        for attempt in users.into_values().flatten() {
            attempt.lost(LostCause::SessionOver);
        }
    }

    fn users(&self) -> MutexGuard<'_, HashMap<AttemptId, Option<Attempt>>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tries until the store has confirmed it, or `carrier` has ended and there is nothing left to do, or
/// the backend was closed.
pub(crate) async fn until_done<F>(carrier: &Carrier, does: impl Fn() -> F)
where
    F: Future<Output = Result<()>>,
{
    let mut pause = Pause::new();
    while let Err(error) = does().await {
        if carrier.has_ended() || carrier.session.is_closed() {
            return;
        }
        tracing::debug!(%error, "not undone yet");
        tokio::time::sleep(pause.next()).await;
    }
}

/// When the grant was sent that the store has confirmed, and for how long it is.
async fn grant(session: &Arc<Session>, id: i64, asked: Duration) -> Result<(Sent, Duration)> {
    let seconds = i64::try_from(asked.as_secs()).unwrap_or(i64::MAX);
    let granted = session.ask(|client| async move {
        let sent = session.start();
        let options = LeaseGrantOptions::new().with_id(id);
        match client.lease_client().grant(seconds, Some(options)).await {
            Ok(answer) => Ok(Some((sent, duration(answer.ttl()).max(asked)))),
            // By an earlier try of ours.
            Err(error) if errors::is_lease_taken(&error) => Ok(None),
            Err(error) => Err(error),
        }
    });
    if let Some(granted) = granted.await? {
        return Ok(granted);
    }
    let alive = keep_alive(session, id, session.config.answer_max).await;
    // It is there, whatever became of that.
    let alive = alive.map_err(|error| error.with_effect(Effect::Unknown))?;
    Ok((alive.ok_or_else(errors::lease_ended)?, asked))
}

fn is_doubtful(error: &Error) -> bool {
    error.effect() == Effect::Unknown
}

/// Ends a lease that may have been granted without our hearing so (T33).
async fn recall(session: Arc<Session>, id: i64) {
    let mut pause = Pause::new();
    while revoke(&session, id, &AtomicBool::new(false)).await.is_err() && !session.is_closed() {
        tokio::time::sleep(pause.next()).await;
    }
}

/// Ends a lease, which is done also if it is gone already; `doubtful` is set if a try of it may still
/// be on its way.
async fn revoke(session: &Arc<Session>, id: i64, doubtful: &AtomicBool) -> Result<()> {
    let asks = |client: Arc<Client>| async move {
        match client.lease_client().revoke(id).await {
            Err(error) if errors::is_lease_gone(&error) => Ok(()),
            answer => answer.map(drop),
        }
    };
    session.ask_noting(doubtful, asks).await
}

/// When the keep-alive was sent that the store has confirmed; `None` if it has no such lease.
async fn keep_alive(session: &Arc<Session>, id: i64, max: Duration) -> Result<Option<Sent>> {
    let asks = |client: Arc<Client>| async move {
        let sent = session.start();
        // T21: a stream for each, so that none has to be reopened.
        match client.lease_client().keep_alive(id).await {
            Ok(_) => Ok(Some(sent)),
            Err(error) if errors::is_lease_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    };
    session.ask_within(max, &AtomicBool::new(false), asks).await
}

/// The store counts whole seconds: rounded up, so that it never ends before the holder does.
pub(crate) fn whole_seconds(ttl: Duration) -> u64 {
    ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0)
}

fn duration(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}
