//! An acquire: the lock in the old store, then in the new one, then what is known of the records.

use std::{
    pin::pin,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use dlock_core::{
    Error, ErrorKind, Result, Token,
    backend::{AcquireRequest, Lease, Wait},
    toolkit::{Backoff, pause, pause_after},
};
use tokio::time::timeout;

use super::{
    hold::Hold,
    old_store::OldStore,
    request::{Acquiring, WATCH_AFTER, nested},
    stores::Store,
    switch::Switch,
    watch::{Sides, Watch},
};
use crate::{
    panics::{panicked, unless_panics},
    part::{Found, Part},
    reports::Reports,
    undo::{undo, undone},
};

/// An acquire in the new store that took longer was a wait: the lock in the old one is confirmed before the grant. A
/// renewal may take as long, as those of many locks are gathered.
const CONFIRM_AFTER: Duration = Duration::from_millis(10);

/// A waiting acquire gives back the lock in the old store when the new one has been silent for so long.
const NEW_ANSWER_MAX: Duration = Duration::from_secs(1);

/// The new store, in the error of its panic.
const NEW: &str = "the new store";

/// The parts of a migration that an acquire uses.
pub(super) struct Acquirer<'a> {
    pub(super) old: &'a OldStore,
    pub(super) new: &'a Store,
    pub(super) switch: &'a Switch,
}

/// The end of one round.
enum Round {
    Granted(Lease),
    /// A part was lost before the grant: it may begin again. Whether all is released.
    Lost {
        is_undone: bool,
    },
}

impl Acquirer<'_> {
    /// Takes the lock in both stores, or waits for it.
    pub(super) async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let mut backoff = Backoff::new();
        let mut is_again = false;
        loop {
            let round = self.round(request, is_again).await;
            is_again = true;
            let is_waiting = request.wait != Wait::Never && !request.attempt.is_cancelled();
            match round {
                Ok(Round::Granted(lease)) => return Ok(lease),
                Ok(Round::Lost { .. }) if is_waiting => {
                    pause(&request.attempt, &mut backoff).await?
                }
                Err(error) if is_waiting && error.kind() == ErrorKind::Unavailable => {
                    pause_after(&request.attempt, &error, &mut backoff).await?;
                }
                _ if request.attempt.is_cancelled() => return Err(Error::cancelled()),
                Ok(Round::Lost { is_undone }) => {
                    let why = "the lock in one store was lost before the grant";
                    return Err(undone(Error::new(ErrorKind::Unavailable, why), is_undone));
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn round(&self, request: &AcquireRequest, is_again: bool) -> Result<Round> {
        let watch = Arc::new(Watch::new(request.attempt.clone(), self.switch.known()));
        let old = self
            .old
            .acquire(request, &watch, self.switch, is_again)
            .await?;
        let began = request.clock().now();
        // A panic must not keep the old lock (K4).
        let acquiring = unless_panics(self.acquire_new(request, &watch, old.as_ref(), is_again));
        let new = match acquiring.await.unwrap_or_else(|| Err(panicked(NEW))) {
            Ok(Some(new)) => new,
            other => {
                let is_undone = undo(request, old).await;
                return lost(other.map(drop), is_undone);
            }
        };
        let has_waited = request.clock().now().since(began) > CONFIRM_AFTER;
        let decided = self.decide(request, &watch, old.as_deref(), &new, has_waited);
        match unless_panics(decided)
            .await
            .unwrap_or_else(|| Err(panicked("a store")))
        {
            Ok(Some((sides, token))) => {
                // As `inspect` finds it, in the store that counts.
                let counts = old.as_ref().filter(|_| sides.has(Sides::OLD));
                let id = counts.unwrap_or(&new).lease.id();
                let hold = Hold {
                    old,
                    new,
                    watch,
                    is_release_going_on: AtomicBool::new(false),
                };
                let deadline = hold.deadline(sides);
                let lease = request.granted_until(deadline, token, hold);
                Ok(Round::Granted(lease.with_id(id)))
            }
            other => {
                // A loss from now on is none of the acquire, which may begin again.
                watch.require(Sides::NONE);
                let is_undone = undo(request, old.into_iter().chain([new])).await;
                lost(other.map(drop), is_undone)
            }
        }
    }

    /// Takes the lock in the new store, and keeps that in the old one in the meantime; `None` if that was lost.
    async fn acquire_new(
        &self,
        request: &AcquireRequest,
        watch: &Arc<Watch>,
        old: Option<&Arc<Part>>,
        is_again: bool,
    ) -> Result<Option<Arc<Part>>> {
        let reports = Arc::new(Reports::default());
        let nested = Arc::new(nested(request, watch, Sides::NEW, &reports, is_again));
        let mut acquiring = self.new.backend.acquire(&nested);
        let answer = match old {
            None => acquiring.await,
            Some(old) => match timeout(WATCH_AFTER, &mut acquiring).await {
                Ok(answer) => answer,
                Err(_) => {
                    // Boxed here and below, as it is rare: the futures of acquires stay small.
                    let watched = self.watched(request, &nested, acquiring, watch, old, &reports);
                    match Box::pin(watched).await? {
                        Some(answer) => answer,
                        None => return Ok(None),
                    }
                }
            },
        };
        let lease = answer.map_err(|error| self.of_new(error, request))?;
        Ok(Some(Arc::new(self.part(&nested, lease))))
    }

    /// The answer of an acquire in the new store, during which the lock in the `old` one is kept. `None` if that was
    /// lost.
    async fn watched(
        &self,
        request: &AcquireRequest,
        nested: &Arc<AcquireRequest>,
        mut acquiring: Acquiring<'_>,
        watch: &Watch,
        old: &Arc<Part>,
        reports: &Reports,
    ) -> Result<Option<Result<Lease>>> {
        let is_waiting = request.wait != Wait::Never;
        let instead = tokio::select! {
            biased;
            answer = &mut acquiring => return Ok(Some(answer)),
            () = until_lost(old, watch) => Ok(None),
            () = request.attempt.cancelled() => Err(Error::cancelled()),
            () = reports.until_silent(NEW_ANSWER_MAX), if is_waiting => {
                Err(self.of_new(silent(reports), request))
            }
        };
        nested.cancel_nested();
        // Polled to its end, as core does. That may take as long as a request to the new store, and programs that use the
        // old one alone must not wait for it. The round's own release finds nothing then.
        let (answer, mut is_undone) = tokio::join!(acquiring, undo(request, [old.clone()]));
        if let Ok(lease) = answer {
            is_undone &= undo(request, [Arc::new(self.part(nested, lease))]).await;
        }
        instead.map_err(|error| undone(error, is_undone))
    }

    fn of_new(&self, error: Error, request: &AcquireRequest) -> Error {
        error.in_context("acquire", self.new.name(), Some(&request.name))
    }

    fn part(&self, nested: &Arc<AcquireRequest>, lease: Lease) -> Part {
        Part::new(self.new.backend.clone(), nested.clone(), lease)
    }

    /// Which stores the grant depends on, and its token; `None` if one of them has lost it.
    async fn decide(
        &self,
        request: &AcquireRequest,
        watch: &Watch,
        old: Option<&Part>,
        new: &Part,
        has_waited: bool,
    ) -> Result<Option<(Sides, Token)>> {
        let confirmed = old.filter(|_| has_waited);
        let sides = match (self.is_done(request, confirmed).await?, old) {
            (true, _) => Sides::NEW,
            (false, Some(_)) => Sides::BOTH,
            // An old store is only passed over when the new one counts, and that stays true. If not, no grant (K1).
            (false, None) => return Ok(None),
        };
        let is_held = watch.require(sides)
            && new.is_held()
            && old.is_none_or(|old| !sides.has(Sides::OLD) || old.is_held());
        if !is_held {
            return Ok(None);
        }
        let token = self.token(sides, old, new)?;
        Ok(Some((sides, token)))
    }

    /// Whether the new store counts. If it does not, the lock in the `old` one is renewed, or found lost.
    ///
    /// Both locks are held before the record is read, or before it is checked that the old store still counts (K1). The
    /// old store may have lost its own during a wait: then another program may have had both in the meantime, with a
    /// larger token (K5). A renewal shows that, and waiting does not eat the ttl (K6).
    async fn is_done(&self, request: &AcquireRequest, old: Option<&Part>) -> Result<bool> {
        match old.filter(|_| !self.switch.is_known()) {
            None => self.switch.is_done_for(&request.attempt).await,
            Some(old) => Box::pin(self.is_done_beside_renewal(request, old)).await,
        }
    }

    async fn is_done_beside_renewal(&self, request: &AcquireRequest, old: &Part) -> Result<bool> {
        let mut renewing = pin!(old.renew());
        // At the same time: together they take one round trip.
        let found = tokio::select! {
            biased;
            is_done = self.switch.is_done_for(&request.attempt) => match is_done? {
                true => return Ok(true),
                false => None,
            },
            found = &mut renewing => Some(found),
        };
        let (is_done, found) = match found {
            Some(found) => (self.switch.is_done_for(&request.attempt).await?, found),
            None => tokio::select! {
                biased;
                found = renewing => (false, found),
                () = request.attempt.cancelled() => return Err(Error::cancelled()),
            },
        };
        match found {
            Found::Unknown(error) if !is_done => {
                Err(error.in_context("acquire", self.old.store.name(), Some(&request.name)))
            }
            // A loss is known to the part.
            _ => Ok(is_done),
        }
    }

    /// The token of the store that counts. It must be below those of the time after the switch, which are above the new
    /// store's token of this grant (K5).
    fn token(&self, sides: Sides, old: Option<&Part>, new: &Part) -> Result<Token> {
        let base = self.new.token_base;
        let after = new.lease.token.with_base(base);
        let token = match old {
            Some(old) if sides.has(Sides::OLD) => {
                old.lease.token.with_base(self.old.store.token_base)
            }
            _ => return after.ok_or_else(|| too_large(new, base)),
        };
        match (token, after) {
            (Some(token), Some(after)) if token < after => Ok(token),
            (Some(token), Some(after)) => {
                let why = format!(
                    "the token {token} of the {} store is not below {after}, that of the {} store with token_base={base}: \
                     set a larger one in to=, in all programs",
                    self.old.store.name(),
                    self.new.name(),
                );
                Err(Error::new(ErrorKind::InvalidConfig, why))
            }
            (None, _) => Err(too_large(new, self.old.store.token_base)),
            (_, None) => Err(too_large(new, base)),
        }
    }
}

/// A round without a grant: a loss that may begin again, or the error.
fn lost(result: Result<()>, is_undone: bool) -> Result<Round> {
    match result {
        Ok(()) => Ok(Round::Lost { is_undone }),
        Err(error) => Err(undone(error, is_undone)),
    }
}

fn too_large(part: &Part, base: u64) -> Error {
    let (token, store) = (part.lease.token, part.backend());
    let why = format!("the token {token} of the {store} store with token_base={base} is too large");
    Error::new(ErrorKind::InvalidConfig, why)
}

/// The new store grants nothing, such as in the time after its start.
fn silent(reports: &Reports) -> Error {
    let why = match reports.why() {
        Some(why) => format!("the new store does not grant: {why}"),
        None => "the new store does not answer".to_owned(),
    };
    Error::new(ErrorKind::Unavailable, why)
}

/// Renews `old`, and ends when it is lost.
async fn until_lost(old: &Part, watch: &Watch) {
    tokio::select! {
        _ = old.keep() => {}
        () = watch.until_lost(Sides::OLD) => {}
    }
}
