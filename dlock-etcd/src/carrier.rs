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

use dlock_core::{Attempt, LostCause, Moment, Result, Sent};
use tokio::sync::{Notify, watch};

use crate::{
    leases,
    seat::{Seat, Seats},
    session::{Pause, Session},
};

/// A keep-alive is given up after this part of its ttl.
const TRY_PART: u32 = 4;

/// A renewal of a lock is proved by a keep-alive that is no older than this part.
const FRESH_PART: u32 = 4;

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
    acked: Sent,
    /// Nothing is granted on it any more; it has ended in the store by then.
    over: Option<Moment>,
}

impl Carrier {
    /// Asks the store for a lease of `ttl`, in whole seconds.
    pub(crate) async fn grant(session: &Arc<Session>, ttl: Duration) -> Result<Self> {
        let leases::Granted { id, sent, ttl } = leases::grant(session, ttl).await?;
        let state = State {
            acked: sent,
            over: None,
        };
        Ok(Self {
            session: session.clone(),
            id,
            granted: ttl,
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
    pub(crate) fn acked(&self) -> Sent {
        self.state.borrow().acked
    }

    /// The attempt of `seat` holds a lock now, and is told if the lease ends.
    pub(crate) fn hold(&self, seat: &Seat, attempt: &Attempt) {
        self.seats.hold(seat, attempt);
        if self.is_over() {
            attempt.lost(LostCause::SessionOver);
        }
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

    /// One keep-alive, now; `None` when the lease is over.
    pub(crate) async fn keep_alive(&self) -> Result<Option<Sent>> {
        let max = (self.granted / TRY_PART).min(self.session.config.answer_max);
        match leases::keep_alive(&self.session, self.id, max).await? {
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
        leases::revoke(&self.session, self.id, doubtful).await?;
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
    pub(crate) fn give_up(&self) {
        let now = self.session.clock.now();
        self.end(now.after(self.granted).after(END_SLACK));
    }

    /// It is over, and has ended in the store by `moment`.
    fn end(&self, moment: Moment) {
        self.state.send_modify(|state| {
            state.over = Some(state.over.map_or(moment, |over| over.min(moment)));
        });
        self.seats.end();
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
