//! One acquire as a backend sees it: its identity, and the channel between core and backend about it.

use std::{
    fmt,
    pin::pin,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Notify;

use crate::{
    backend::{
        attempt_id::AttemptId,
        state::{Phase, State},
    },
    base::{
        cause::LostCause,
        clock::BootInstant,
        error::{Error, ErrorKind},
        lock::Lock,
    },
};

/// The tracing target of the messages why a wait goes on, which the program `dlock` shows.
pub(crate) const WAITING: &str = "dlock_core::waiting";

/// Receives the loss of a granted attempt, once.
pub(crate) trait LossSink: Send + Sync {
    /// The lock was lost for `cause`.
    fn on_lost(self: Arc<Self>, cause: LostCause);
}

/// An attempt to take a lock, as its backend sees it. Cheap to clone.
///
/// A backend that can learn of a loss by itself keeps a clone for as long as the lock is held.
#[derive(Clone)]
pub struct Attempt(Arc<Inner>);

struct Inner {
    id: AttemptId,
    state: State,
    /// Whether the store's last answer was that the lock is taken; false before the first request.
    contended: AtomicBool,
    /// The last reason why the store could not be reached.
    unavailable: Lock<Option<Error>>,
    /// A warning about something unusual with the lock that is taken.
    warning: Lock<Option<String>>,
    owner: Owner,
    /// Wakes the tasks that wait for a change of `state`.
    changed: Notify,
}

/// The owner of an attempt: it drives the attempt, and receives its loss.
enum Owner {
    /// A locker; set before the grant.
    Locker(OnceLock<Weak<dyn LossSink>>),
    /// A layer, for a backend inside it.
    Layer {
        outer: Attempt,
        on_lost: Box<dyn Fn(LostCause) + Send + Sync>,
        on_wait: Option<OnWait>,
    },
}

/// Receives what the backend inside a layer reports while it waits.
pub(super) type OnWait = Box<dyn Fn(WaitReport<'_>) + Send + Sync>;

/// A report of a backend while it waits for a lock (K6).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum WaitReport<'a> {
    /// The store has answered that the lock is taken; with a warning about something unusual with it.
    Contended(Option<&'a str>),
    /// The store cannot be reached at present, and why.
    Unavailable(&'a Error),
}

impl Attempt {
    pub(crate) fn new() -> Self {
        Self::with(AttemptId::random(), Owner::Locker(OnceLock::new()))
    }

    pub(super) fn nested(
        &self,
        id: AttemptId,
        on_lost: Box<dyn Fn(LostCause) + Send + Sync>,
        on_wait: Option<OnWait>,
    ) -> Self {
        Self::with(
            id,
            Owner::Layer {
                outer: self.clone(),
                on_lost,
                on_wait,
            },
        )
    }

    fn with(id: AttemptId, owner: Owner) -> Self {
        Self(Arc::new(Inner {
            id,
            state: State::pending(),
            contended: AtomicBool::new(false),
            unavailable: Lock::new(None),
            warning: Lock::new(None),
            owner,
            changed: Notify::new(),
        }))
    }

    /// The identity of the attempt.
    #[must_use]
    pub fn id(&self) -> AttemptId {
        self.0.id
    }

    /// Whether the attempt was cancelled: its caller is gone, or its wait is over.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        match (self.0.state.phase(), &self.0.owner) {
            // A loss before the grant ends the attempt too: cancelling it changes nothing any more.
            (Phase::Cancelled | Phase::Lost(_), _) => true,
            (_, Owner::Locker(_)) => false,
            (_, Owner::Layer { outer, .. }) => outer.is_cancelled(),
        }
    }

    /// Ends when the attempt is cancelled: its caller is gone, or its wait is over.
    ///
    /// The backend then undoes what it did, and returns [`Error::cancelled`] within a bound of its own
    /// (K7). Core polls its future to that end.
    ///
    /// # Cancel safety
    ///
    /// Safe: a new call sees a cancellation that happened between the two.
    pub async fn cancelled(&self) {
        self.until(|| self.is_cancelled().then_some(())).await;
    }

    /// Reports that the lock is lost (K8). The guard, if there is one, is notified at once. A loss before the
    /// grant makes the acquire fail. After a release, and the second time, nothing happens.
    ///
    /// Never blocks and works off-runtime.
    ///
    /// ```
    /// use std::collections::HashMap;
    ///
    /// use dlock_core::{LostCause, backend::Attempt};
    ///
    /// /// Called for each notification of the store, which names the key that is gone.
    /// fn on_deleted(held: &mut HashMap<String, Attempt>, key: &str) {
    ///     if let Some(attempt) = held.remove(key) {
    ///         attempt.report_lost(LostCause::Removed);
    ///     }
    /// }
    /// ```
    pub fn report_lost(&self, cause: LostCause) {
        // Taken before the change: after it the guard may go, and with it the release.
        let sink = self.sink();
        if let Some(before) = self.0.state.lose(cause) {
            let sink = sink.or_else(|| self.sink());
            self.notify_lost(sink.filter(|_| matches!(before, Phase::Held(_))), cause);
        }
    }

    /// Reports that the store has answered that the lock is taken. A wait that ends now ends as
    /// `Contended` (K6).
    pub fn report_contended(&self) {
        self.report_contended_with(None);
    }

    /// Reports that the lock is taken, with a `warning` about something unusual with it.
    ///
    /// The warning is a sentence for people. The error of a wait that ends as `Contended` has it.
    ///
    /// ```
    /// use dlock_core::{backend::AcquireRequest, Error};
    ///
    /// fn refusal(request: &AcquireRequest) -> Error {
    ///     let warning = "it has no end: did another program change its key?";
    ///     request.attempt.report_contended_with(Some(warning.to_owned()));
    ///     request.attempt.contended_error()
    /// }
    /// ```
    pub fn report_contended_with(&self, warning: Option<String>) {
        self.pass_on(WaitReport::Contended(warning.as_deref()));
        *self.0.warning.lock() = warning;
        self.0.contended.store(true, Ordering::Release);
    }

    /// Takes over the answer of the store that `other` has reported.
    pub(crate) fn copy_contention(&self, other: &Self) {
        let warning = other.0.warning.lock().clone();
        self.report_contended_with(warning);
    }

    /// The error of an attempt that does not wait, or waits no longer, for a lock that is taken.
    #[must_use]
    pub fn contended_error(&self) -> Error {
        Error::contended_with(self.0.warning.lock().as_deref())
    }

    /// Reports that the store cannot be reached at present, and `why`. A wait that ends now ends as
    /// `Unavailable`, with that reason (K6).
    ///
    /// The first report of an attempt is logged as a warning at once: the wait may be long.
    pub fn report_unavailable(&self, why: &Error) {
        let is_first = self.0.unavailable.lock().replace(why.duplicate()).is_none();
        // A layer decides whether its own attempt is unavailable.
        if is_first && matches!(self.0.owner, Owner::Locker(_)) {
            tracing::warn!(target: WAITING, "{why}");
        }
        self.pass_on(WaitReport::Unavailable(why));
        self.0.contended.store(false, Ordering::Release);
    }

    fn pass_on(&self, report: WaitReport<'_>) {
        if let Owner::Layer {
            on_wait: Some(on_wait),
            ..
        } = &self.0.owner
        {
            on_wait(report);
        }
    }

    pub(crate) fn is_contended(&self) -> bool {
        self.0.contended.load(Ordering::Acquire)
    }

    /// The error of a wait that ends now, as far as the backend has reported why.
    pub(crate) fn wait_error(&self) -> Option<Error> {
        if self.is_contended() {
            return Some(self.contended_error());
        }
        let why = self.0.unavailable.lock();
        let why = format!("no grant in time: {}", why.as_ref()?);
        Some(Error::new(ErrorKind::Unavailable, why))
    }

    pub(crate) fn state(&self) -> &State {
        &self.0.state
    }

    /// Makes `sink` the one that is notified of a loss; once, before the grant.
    pub(crate) fn notify_of_loss(&self, sink: Weak<dyn LossSink>) {
        if let Owner::Locker(slot) = &self.0.owner {
            let _ = slot.set(sink);
        }
    }

    /// The deadline of the hold, if the lock is held.
    pub(crate) fn deadline(&self) -> Option<BootInstant> {
        match self.0.state.phase() {
            Phase::Held(deadline) => Some(BootInstant::from_nanos(deadline)),
            _ => None,
        }
    }

    /// Gives the attempt up; whether that came before a grant.
    pub(crate) fn cancel(&self) -> bool {
        let did = self.0.state.cancel();
        self.wake();
        did
    }

    /// Ends the hold as lost if its deadline has passed at `now`.
    pub(crate) fn expire(&self, now: BootInstant) {
        if !matches!(self.0.state.phase(), Phase::Held(deadline) if deadline <= now.as_nanos()) {
            return;
        }
        let sink = self.sink();
        if self.0.state.expire(now.as_nanos()) {
            self.notify_lost(sink, LostCause::Expired);
        }
    }

    /// Notifies the guard that its deadline has passed.
    pub(crate) fn notify_expired(&self) {
        self.notify_lost(self.sink(), LostCause::Expired);
    }

    /// Wakes everything that waits for a change: after a change, or after the clock jumped.
    pub(crate) fn wake(&self) {
        self.notifier().notify_waiters();
    }

    /// Waits until `find` finds something; it is called again after each [`wake`](Self::wake).
    pub(crate) async fn until<T>(&self, find: impl Fn() -> Option<T>) -> T {
        loop {
            if let Some(found) = find() {
                return found;
            }
            self.woken(|| find().is_some()).await;
        }
    }

    /// Waits for one [`wake`](Self::wake), or returns at once if `already` holds when it is sure
    /// that no later wake can be missed.
    pub(crate) async fn woken(&self, already: impl Fn() -> bool) {
        let mut notified = pin!(self.notifier().notified());
        notified.as_mut().enable();
        if !already() {
            notified.await;
        }
    }

    /// One notifier for an attempt and all that layers made of it: a cancelled outer attempt wakes
    /// the inner ones.
    fn notifier(&self) -> &Notify {
        match &self.0.owner {
            Owner::Locker(_) => &self.0.changed,
            Owner::Layer { outer, .. } => outer.notifier(),
        }
    }

    /// The receiver of a loss that a locker registered, if it still lives.
    fn sink(&self) -> Option<Arc<dyn LossSink>> {
        match &self.0.owner {
            Owner::Locker(slot) => slot.get().and_then(Weak::upgrade),
            Owner::Layer { .. } => None,
        }
    }

    fn notify_lost(&self, sink: Option<Arc<dyn LossSink>>, cause: LostCause) {
        match &self.0.owner {
            // A loss before the grant makes the acquire fail, so its caller knows.
            Owner::Locker(_) => {
                if let Some(sink) = sink {
                    sink.on_lost(cause);
                }
            }
            Owner::Layer { on_lost, .. } => on_lost(cause),
        }
        self.wake();
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("id", &self.0.id)
            .field("phase", &self.0.state.phase())
            .finish()
    }
}
