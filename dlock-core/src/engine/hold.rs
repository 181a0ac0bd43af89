//! A granted lease with everything that keeps and ends it: what a guard and the scheduler share.

use std::{fmt, sync::Arc, time::Duration};

use tokio::time::timeout;
use tracing::Span;

use crate::{
    backend::{
        attempt::{Attempt, LossSink},
        capabilities::Expiry,
        lease::{Lease, Renewed},
        options::Renewal,
        state::Phase,
    },
    base::{
        cause::LostCause,
        clock::BootInstant,
        error::{Effect, Error, ErrorKind, Result},
        lock::Lock,
        token::Token,
    },
    engine::{
        call::{catch_panic, release_in_time},
        cleanup::{Unreleased, Work},
        metrics::{Renewals, StoreOp},
        renewals::FailingHold,
        scheduler::{Renewable, ScheduleEntry},
        shared::Shared,
        spans::HoldSpan,
    },
};

/// A try to renew takes no longer than this, nor than half of what remains of the lease.
const RENEW_TRY_MAX: Duration = Duration::from_secs(10);

/// The margin on top of a whole ttl after which the lease of an ended hold has ended in the store.
const LEASE_SLACK: Duration = Duration::from_secs(1);

pub(crate) struct Hold {
    pub(crate) shared: Arc<Shared>,
    pub(crate) lease: Lease,
    /// The store's token moved up by the locker's base.
    pub(crate) token: Token,
    pub(crate) since: BootInstant,
    pub(crate) entry: ScheduleEntry,
    span: HoldSpan,
    /// While its last renewal has failed.
    failing: Lock<Option<FailingHold>>,
}

impl Hold {
    /// Makes `lease` a hold, unless the attempt was cancelled or lost by then or the answer came after the
    /// deadline (K2, K7), or is not `admitted`. What could not be held is released in the background. The answer came at
    /// `since`. Its span is a child of `parent`.
    pub(crate) fn grant(
        shared: &Arc<Shared>,
        lease: Lease,
        admitted: Result<()>,
        since: BootInstant,
        parent: &Span,
    ) -> Result<Arc<Self>> {
        let token = Token::with_base(lease.token, shared.token_base).unwrap_or(lease.token);
        let hold = Arc::new(Self {
            shared: shared.clone(),
            token,
            span: HoldSpan::new(parent, shared.capabilities.backend, &lease, token),
            since,
            entry: shared.scheduler.new_entry(),
            failing: Lock::default(),
            lease,
        });
        let granted = admitted.and_then(|()| hold.try_grant());
        if granted.is_err() {
            shared.cleanup.release(hold.clone());
            hold.span.end("not granted");
        }
        // The store has granted it; the release follows in the background.
        granted
            .map(|()| hold)
            .map_err(|error| error.with_effect(Effect::Unknown))
    }

    fn try_grant(self: &Arc<Self>) -> Result<()> {
        if self.lease.token.get() > Token::MAX {
            return Err(Error::new(
                ErrorKind::Internal,
                format!(
                    "the store returned token {} (allowed: 1 to {})",
                    self.lease.token.get(),
                    Token::MAX
                ),
            ));
        }
        let attempt = &self.lease.attempt;
        let sink: Arc<dyn LossSink> = self.clone();
        attempt.notify_of_loss(Arc::downgrade(&sink));
        drop(sink);
        let deadline = self.lease.deadline.instant().as_nanos();
        match attempt.state().grant(self.since.as_nanos(), deadline) {
            Ok(()) => {}
            Err(Phase::Lost(LostCause::Expired)) => {
                let late = "the store's answer came after the lease had ended";
                return Err(Error::new(ErrorKind::Unavailable, late));
            }
            Err(Phase::Lost(cause)) => return Err(Error::lost(cause)),
            Err(_) => return Err(Error::cancelled()),
        }
        // A loss is reported from here on, also one that comes before the guard is built.
        if self.shared.scheduler.insert(self.clone()) {
            self.shared.metrics.granted();
            if let Some(watch) = &self.shared.migration {
                watch.added(attempt);
            }
            return Ok(());
        }
        attempt.state().lose(LostCause::Closed);
        Err(self.shared.closed_error())
    }

    /// The deadline of the hold, while it is held.
    pub(crate) fn deadline(&self) -> Option<BootInstant> {
        let deadline = self.lease.attempt.deadline();
        match &self.shared.migration {
            Some(watch) => deadline.map(|deadline| deadline.min(watch.holds_until())),
            None => deadline,
        }
    }

    /// Ends it as lost if its time has passed, and reports that to no one.
    #[cfg(feature = "blocking")]
    pub(crate) fn expire_unreported(&self) {
        let now = self.shared.clock.now();
        let state = self.lease.attempt.state();
        state.expire(now.as_nanos());
        if let Some(watch) = &self.shared.migration
            && watch.is_over(now)
        {
            state.lose(watch.cause());
        }
    }

    /// Ends it as lost if its time has passed.
    fn expire(&self, now: BootInstant) {
        let attempt = &self.lease.attempt;
        attempt.expire(now);
        if let Some(watch) = &self.shared.migration
            && watch.is_over(now)
        {
            attempt.report_lost(watch.cause());
        }
    }

    /// Whether it is held at this moment. Once false, for ever false.
    pub(crate) fn is_held(&self) -> bool {
        self.expire(self.shared.clock.now());
        self.deadline().is_some()
    }

    /// Proves the hold to the store and moves its deadline, bounded by half of what remains (K3).
    /// Fails with `Lost`, or with anything else when it is unknown and the old deadline stays.
    pub(crate) async fn renew(self: &Arc<Self>) -> Result<()> {
        self.expire(self.shared.clock.now());
        let deadline = self.deadline().ok_or_else(|| self.not_held("renew"))?;
        let sent = self.shared.clock.now();
        let bound = (deadline.since(sent) / 2).min(RENEW_TRY_MAX);
        let answer = self.send_renewal(bound).await;
        let answered = self.shared.clock.now();
        let result = answer.and_then(|renewed| self.apply(renewed));
        let metrics = &self.shared.metrics;
        metrics.store_took(StoreOp::Renew, answered.since(sent));
        metrics.renewed(match &result {
            Ok(()) => Renewals::Confirmed,
            Err(error) if error.is_lost() => Renewals::Lost,
            Err(_) => Renewals::Failed,
        });
        if result.is_ok() {
            metrics.margin(deadline.since(answered), self.lease.ttl);
        }
        result
    }

    /// Sends one renewal, and waits for its answer for `bound` at the most.
    async fn send_renewal(self: &Arc<Self>, bound: Duration) -> Result<Renewed> {
        let hold = self.clone();
        let renewal = async move { catch_panic(hold.shared.backend.renew(&hold.lease)).await };
        let answer = timeout(bound, self.shared.on_home_runtime(renewal)).await;
        let answer = answer.unwrap_or_else(|_| {
            let why = format!("no reply within {bound:?}");
            Err(Error::new(ErrorKind::Unavailable, why).with_effect(Effect::Unknown))
        });
        answer.map_err(|error| self.in_context("renew", error))
    }

    /// Moves the deadline as the store has answered.
    fn apply(&self, renewed: Renewed) -> Result<()> {
        let attempt = &self.lease.attempt;
        match renewed {
            Renewed::Until(deadline) => {
                let now = self.shared.clock.now().as_nanos();
                attempt.state().extend(now, deadline.instant().as_nanos());
                self.expire(self.shared.clock.now());
            }
            Renewed::Lost(cause) => attempt.report_lost(cause),
        }
        self.deadline()
            .map(drop)
            .ok_or_else(|| self.not_held("renew"))
    }

    /// Notes how a renewal by the scheduler ended, while the lock is held.
    fn note(&self, renewed: &Result<()>) {
        let before = self.failing.lock().take();
        match (renewed, self.deadline(), before) {
            (Ok(()), _, Some(failing)) => failing.recovered(),
            (Err(error), Some(deadline), None) => {
                let renewals = &self.shared.renewals;
                let failing = renewals.failed(&self.lease.name, error, deadline);
                *self.failing.lock() = Some(failing);
            }
            (Err(_), Some(_), before) => *self.failing.lock() = before,
            // It has ended, which is reported elsewhere; or nothing has changed.
            (_, None, _) | (Ok(()), _, None) => {}
        }
    }

    /// Tries once to free the lock in the store, bounded by [`RELEASE_TRY_MAX`](crate::backend::RELEASE_TRY_MAX).
    pub(crate) async fn try_release(self: &Arc<Self>) -> Result<()> {
        let hold = self.clone();
        let release = async move { catch_panic(hold.shared.backend.release(&hold.lease)).await };
        let sent = self.shared.clock.now();
        let result = release_in_time(self.shared.on_home_runtime(release)).await;
        let took = self.shared.clock.now().since(sent);
        self.shared.metrics.store_took(StoreOp::Release, took);
        result.map_err(|error| self.in_context("release", error))
    }

    /// The error of an operation that needs a hold which has ended.
    pub(crate) fn not_held(&self, operation: &'static str) -> Error {
        let cause = match self.lease.attempt.state().phase() {
            Phase::Lost(cause) => cause,
            _ => LostCause::Removed,
        };
        self.in_context(operation, Error::lost(cause))
    }

    /// Ends the hold by its holder's will: no renewal and no report of a loss follows (K4, K8).
    /// Fails with the cause if it was lost before.
    pub(crate) fn begin_release(&self) -> Result<(), LostCause> {
        let attempt = &self.lease.attempt;
        let now = self.shared.clock.now();
        self.expire(now);
        match attempt.state().release() {
            Ok(()) => {
                self.shared.scheduler.remove(&self.entry);
                *self.failing.lock() = None;
                self.span.end("released");
                self.shared.metrics.ended(now.since(self.since));
                Ok(())
            }
            Err(Phase::Lost(cause)) => Err(cause),
            Err(_) => Err(LostCause::Closed),
        }
    }

    /// Whether it was ended by its holder.
    pub(crate) fn is_released(&self) -> bool {
        self.lease.attempt.state().phase() == Phase::Released
    }

    /// `error` with what is known of this hold.
    pub(crate) fn in_context(&self, operation: &'static str, error: Error) -> Error {
        error.in_context(
            operation,
            self.shared.capabilities.backend,
            Some(&self.lease.name),
        )
    }
}

impl LossSink for Hold {
    /// Releases what is left in the store: an entry on a shared session would outlive its guard (K8).
    fn on_lost(self: Arc<Self>, cause: LostCause) {
        self.shared.scheduler.remove(&self.entry);
        *self.failing.lock() = None;
        self.span.end(cause.as_str());
        let held_for = self.shared.clock.now().since(self.since);
        self.shared.metrics.lost(cause, held_for);
        tracing::warn!(name = %self.lease.name, %cause, ?held_for, "lock lost");
        self.shared.cleanup.release(self.clone());
    }
}

impl Renewable for Hold {
    fn entry(&self) -> &ScheduleEntry {
        &self.entry
    }

    fn attempt(&self) -> &Attempt {
        &self.lease.attempt
    }

    fn since(&self) -> BootInstant {
        self.since
    }

    fn is_renewed(&self) -> bool {
        self.lease.renewal == Renewal::Auto && self.shared.capabilities.expiry != Expiry::Process
    }

    fn start_renewal(self: Arc<Self>, lag: Duration) -> Work<Result<()>> {
        self.shared.metrics.renewal_lag(lag);
        Box::pin(async move {
            let renewed = self.renew().await;
            self.note(&renewed);
            renewed
        })
    }
}

impl Unreleased for Hold {
    fn ends_by(&self, now: BootInstant) -> BootInstant {
        match self.shared.capabilities.expiry {
            Expiry::Lease => now.after(self.lease.ttl).after(LEASE_SLACK),
            // An entry on a session lives as long as the session; the backend confirms when that has ended.
            Expiry::Session | Expiry::Process => BootInstant::FOREVER,
        }
    }

    fn start_release(self: Arc<Self>) -> Work<Result<()>> {
        Box::pin(async move { self.try_release().await })
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("lease", &self.lease)
            .field("token", &self.token)
            .finish()
    }
}
