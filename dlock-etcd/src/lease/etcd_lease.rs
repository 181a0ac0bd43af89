//! A lease of etcd: what carries the places of attempts, which end with it.
//!
//! Called so because *lease* is dlock's word for a grant.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{BootInstant, Result, backend::SentAt, toolkit::Backoff};
use tokio::sync::{Notify, watch};

use crate::{conn::members::Session, lease::rpc as leases, lease::users::Seats};

/// A keep-alive is given up after this part of its ttl.
const TRY_PART: u32 = 4;

/// But not before: etcd's gRPC proxy sends it on half a second later.
const TRY_MIN: Duration = Duration::from_millis(700);

/// A lock is proved by a keep-alive that is no older than this part of its ttl. Behind etcd's gRPC proxy each is
/// up to half a second on its way.
const FRESH_PART: u32 = 2;

/// Waiting may eat this part of a ttl that nobody renews.
const EATEN_PART: u32 = 20;

/// The server looks for ended leases twice a second, and this is what it may be late besides.
const END_SLACK: Duration = Duration::from_secs(2);

/// A lease in the store.
pub(crate) struct Carrier {
    pub(crate) session: Arc<Session>,
    id: i64,
    /// How long the store keeps it without a keep-alive.
    pub(crate) granted: Duration,
    /// A term of the cluster that was known before it was asked for.
    term: u64,
    state: watch::Sender<State>,
    /// Whether it has things on it that are only gone with it.
    retired: AtomicBool,
    /// Who stands on it.
    pub(crate) seats: Seats,
    /// Asks the loop for a keep-alive now.
    pub(crate) wanted: Notify,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// When the last keep-alive was sent that the store has confirmed.
    kept: SentAt,
    /// When the last one was sent that proves a hold.
    acked: SentAt,
    /// Whether a later leader has kept it alive: what stands on it and is held must move.
    is_outdated: bool,
    /// Nothing is granted on it any more; it has ended in the store by then.
    over: Option<BootInstant>,
}

/// What a lease says of a hold that stands on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// It is proved by a request that was sent then.
    Since(SentAt),
    /// The leader has changed, so it proves no more.
    Outdated,
    /// It has ended, or is given up.
    Over,
}

impl Carrier {
    /// Asks the store for a lease of `ttl`, in whole seconds.
    pub(crate) async fn grant(session: &Arc<Session>, ttl: Duration) -> Result<Self> {
        let term = session.term();
        let leases::Granted { id, sent, ttl } = leases::grant(session, ttl).await?;
        let state = State {
            kept: sent,
            acked: sent,
            is_outdated: false,
            over: None,
        };
        Ok(Self {
            session: session.clone(),
            id,
            granted: ttl,
            term,
            state: watch::Sender::new(state),
            retired: AtomicBool::new(false),
            seats: Seats::default(),
            wanted: Notify::new(),
        })
    }

    /// Its identity in the store.
    pub(crate) fn id(&self) -> i64 {
        self.id
    }

    /// When the last keep-alive was sent that the store has confirmed.
    pub(crate) fn kept(&self) -> SentAt {
        self.state.borrow().kept
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

    /// A keep-alive that is recent enough to prove a grant or a renewal for `ttl`, which may be much less
    /// than what the store grants (T20): at least half of it is left. The loop is asked for one if it
    /// must be. Bounded by the lease's own end.
    pub(crate) async fn fresh(&self, ttl: Duration) -> Proof {
        let now = self.session.clock.now();
        let since = now.before(ttl.min(self.granted) / FRESH_PART);
        let mut states = self.state.subscribe();
        loop {
            let state = *states.borrow_and_update();
            match state.proof() {
                // K2: the clock of the exchange that the store has answered, never our own.
                Proof::Since(acked) if acked.instant() < since => {}
                proof => return proof,
            }
            self.wanted.notify_one();
            if states.changed().await.is_err() {
                return Proof::Over;
            }
        }
    }

    /// As [`fresh`](Self::fresh) for a grant, where no loop runs and nobody will renew: it is kept alive
    /// once, if waiting has eaten more than a small part of `ttl` (K6).
    pub(crate) async fn proved_for(&self, ttl: Duration) -> Result<Proof> {
        let now = self.session.clock.now();
        let state = *self.state.borrow();
        match state.proof() {
            Proof::Since(acked) if acked.instant() < now.before(ttl / EATEN_PART) => {
                self.keep_alive().await
            }
            proof => Ok(proof),
        }
    }

    /// One keep-alive, now, and a look whether the leader is still the same.
    pub(crate) async fn keep_alive(&self) -> Result<Proof> {
        let max = (self.granted / TRY_PART).max(TRY_MIN);
        let max = max.min(self.session.config.answer_max);
        let Some(kept) = leases::keep_alive(&self.session, self.id, max).await? else {
            self.is_gone();
            return Ok(Proof::Over);
        };
        // Wakes nobody: nothing is proved yet.
        self.state.send_if_modified(|state| {
            state.kept = kept.max(state.kept);
            false
        });
        // After that: a read is answered by a leader that is none before the one that kept it alive.
        let term = leases::term(&self.session, max).await?;
        if term != self.term {
            tracing::debug!(term, "another leader: what is held moves to another lease");
            self.retire();
        }
        self.state.send_modify(|state| {
            if term == self.term {
                state.acked = kept.max(state.acked);
            } else {
                state.is_outdated = true;
            }
        });
        Ok(self.state.borrow().proof())
    }

    /// Ends it in the store, with all that stands on it; success also if it is gone already.
    pub(crate) async fn revoke(&self) -> Result<()> {
        self.revoke_noting(&AtomicBool::new(false)).await
    }

    /// As [`revoke`](Self::revoke); `doubtful` is set if a try of it may still be on its way.
    pub(crate) async fn revoke_noting(&self, doubtful: &AtomicBool) -> Result<()> {
        leases::revoke(&self.session, self.id, doubtful).await?;
        self.is_gone();
        Ok(())
    }

    /// Tries to [`revoke`](Self::revoke) it until that is confirmed or it has ended by itself.
    pub(crate) async fn revoke_surely(&self) {
        self.give_up();
        until_done(&self.session, || self.has_ended(), || self.revoke()).await;
    }

    /// Nothing is kept alive any more: it ends by itself a ttl after the last keep-alive, which may
    /// have been sent just now.
    pub(crate) fn give_up(&self) {
        let now = self.session.clock.now();
        self.end(now.after(self.granted).after(END_SLACK));
    }

    /// It is over, and has ended in the store by `moment`.
    fn end(&self, moment: BootInstant) {
        self.state.send_modify(|state| {
            state.over = Some(state.over.map_or(moment, |over| over.min(moment)));
        });
        self.seats.end();
    }
}

impl State {
    fn proof(&self) -> Proof {
        match self {
            Self { over: Some(_), .. } => Proof::Over,
            Self {
                is_outdated: true, ..
            } => Proof::Outdated,
            Self { acked, .. } => Proof::Since(*acked),
        }
    }
}

/// Tries until the store has confirmed it, or the lease `has_ended` and there is nothing left to do, or
/// the backend was closed.
pub(crate) async fn until_done<F>(
    session: &Session,
    has_ended: impl Fn() -> bool,
    does: impl Fn() -> F,
) where
    F: Future<Output = Result<()>>,
{
    let mut pause = Backoff::new();
    while let Err(error) = does().await {
        if has_ended() || session.is_closed() {
            return;
        }
        tracing::debug!(%error, "not undone yet");
        tokio::time::sleep(pause.next_pause()).await;
    }
}
