//! Waiting for a lock that is taken: in the queue of its name, behind one other.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Error, Result,
    backend::{AcquireRequest, Renewal},
    toolkit::{Backoff, pause_after},
};
use tokio::sync::Notify;

use crate::{
    EtcdLock,
    acquire::attempt as take,
    conn::members::may_pass,
    errors,
    lease::poll_watchdog::Pulse,
    queue::key::{Entry, Stand},
    watch::registry::{Told, Watched},
};

/// A waiter looks by itself after this, though nobody calls: old servers lose an event once in a while
/// (T29).
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// What became of a place in the queue.
enum End {
    /// The lock is ours, since this revision.
    Granted(i64),
    /// Nobody wants it any more.
    Cancelled,
    /// The place is gone, or the lease that carried it: a new one is needed.
    Gone,
    /// Nobody polled this acquire, and the place was taken away.
    Unpolled,
    /// The store refuses.
    Refused(Error),
}

/// Waits until the lock is granted or the attempt is cancelled; then the place is given up within
/// 2 s, or in the background until its lease ends.
pub(crate) async fn wait(
    lock: &EtcdLock,
    request: &AcquireRequest,
    pulse: &Arc<Pulse>,
) -> Result<(Arc<Entry>, i64)> {
    let mut backoff = Backoff::new();
    loop {
        let seat = match lock.carriers.seat_for(request).await {
            Ok(seat) => seat,
            Err(error) => {
                after_failure(lock, request, &mut backoff, error).await?;
                continue;
            }
        };
        let entry = Entry::new(lock, seat, request, pulse);
        let mut place = Place::new(lock, request, &entry);
        let end = tokio::select! {
            biased;
            end = place.stand_in() => end,
            () = carried(request, &entry) => End::Gone,
        };
        let is_there = place.is_there;
        drop(place);
        match end {
            End::Granted(revision) => return Ok((entry, revision)),
            End::Cancelled => {
                return Err(take::undo(entry, request, is_there, Error::cancelled()).await);
            }
            End::Refused(error) => {
                return Err(take::undo(entry, request, is_there, error).await);
            }
            End::Unpolled => {
                tracing::debug!(name = %request.name, "polled again; a new place in the queue");
            }
            End::Gone => {
                tracing::debug!(name = %request.name, "its place in the queue is gone; a new one");
                // A request for the old one may be on its way.
                take::undo(entry, request, is_there, errors::lease_ended()).await;
                after_failure(lock, request, &mut backoff, errors::lease_ended()).await?;
            }
        }
    }
}

/// Ends when the carrier of a place is over; until then an own one is kept alive by it.
async fn carried(request: &AcquireRequest, entry: &Entry) {
    match request.renewal {
        Renewal::Auto => entry.carrier.over().await,
        Renewal::None => drop(entry.carrier.keep(|| true).await),
    }
}

/// Pauses before the next try, if there shall be one.
async fn after_failure(
    lock: &EtcdLock,
    request: &AcquireRequest,
    backoff: &mut Backoff,
    error: Error,
) -> Result<()> {
    if !may_pass(&error) || lock.session.is_closed() {
        return Err(error);
    }
    pause_after(&request.attempt, &error, backoff).await
}

/// A place in the queue.
struct Place<'a> {
    lock: &'a EtcdLock,
    request: &'a AcquireRequest,
    entry: &'a Entry,
    woken: Arc<Notify>,
    /// Whether the store may have it.
    is_there: bool,
    /// The revision in which it was made.
    made: Option<i64>,
    /// Of the place itself: it may go (T25).
    own: Option<Watched>,
    /// Of the place before it, which is this.
    before: Option<(Vec<u8>, Watched)>,
}

impl<'a> Place<'a> {
    fn new(lock: &'a EtcdLock, request: &'a AcquireRequest, entry: &'a Entry) -> Self {
        Self {
            lock,
            request,
            entry,
            woken: Arc::new(Notify::new()),
            is_there: false,
            made: None,
            own: None,
            before: None,
        }
    }

    /// Waits for its turn. Requests are run to their end; only the sleeps between them are cut short.
    async fn stand_in(&mut self) -> End {
        let mut backoff = Backoff::new();
        let mut called = false;
        loop {
            if self.request.attempt.is_cancelled() {
                return End::Cancelled;
            }
            if self.entry.is_settled() {
                return End::Unpolled;
            }
            // Before it is asked for: the answer may be lost.
            self.is_there = true;
            let stand = match self.made {
                None => self.entry.queue().await,
                Some(made) if called => self.entry.look_called(made).await,
                Some(made) => self.entry.look(made).await,
            };
            match stand {
                Ok(Stand::First(revision)) => return End::Granted(revision),
                Ok(Stand::Behind { own, before, seen }) => {
                    self.request.attempt.report_contended();
                    backoff.reset();
                    self.watch(own, before, seen);
                    called = self.sleep(LOOK_EVERY).await;
                }
                Ok(Stand::Nowhere | Stand::NoCarrier) => return End::Gone,
                Err(error) if may_pass(&error) && !self.lock.session.is_closed() => {
                    tracing::debug!(%error, "waiting goes on");
                    self.request.attempt.report_unavailable(&error);
                    called = self.sleep(backoff.next_pause()).await;
                }
                Err(error) => return End::Refused(error),
            }
        }
    }

    /// Nothing is missed that was not seen. What is watched already is not watched anew: on a server
    /// that is busy, each new watch asks for another look.
    fn watch(&mut self, own: i64, before: Vec<u8>, seen: i64) {
        self.made = Some(own);
        let watches = &self.lock.watches;
        let told = || Told::Waiter(self.woken.clone());
        if self.own.is_none() {
            self.own = Some(watches.watch(&*self.entry.keys.own, own + 1, told()));
        }
        if self.before.as_ref().is_none_or(|(key, _)| *key != before) {
            let watched = watches.watch(&*before, seen + 1, told());
            self.before = Some((before, watched));
        }
    }

    /// Sleeps until somebody calls, or for `max`; whether somebody did.
    async fn sleep(&self, max: Duration) -> bool {
        tokio::select! {
            () = self.woken.notified() => true,
            () = tokio::time::sleep(max) => false,
            () = self.request.attempt.cancelled() => false,
        }
    }
}
