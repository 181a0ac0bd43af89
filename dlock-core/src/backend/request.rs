//! The request of an acquire, as a backend receives it.

use std::{any::Any, fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use tokio::sync::oneshot;

use crate::{
    backend::{
        attempt::{Attempt, WaitReport},
        attempt_id::AttemptId,
        lease::Lease,
        options::{Mode, Renewal, Wait},
    },
    base::{
        cause::LostCause,
        clock::{BootInstant, Clock},
        deadline::{Deadline, SentAt},
        error::Result,
        name::LockName,
        token::Token,
    },
};

/// The locker that made a request, as far as the request needs it.
pub(crate) trait Background: fmt::Debug + Send + Sync {
    /// Tries `undo` as releases are tried: until it succeeds, until `until`, or until the locker has
    /// ended. The receiver gets nothing; it ends with the last try, also with the runtime.
    fn undo(self: Arc<Self>, until: BootInstant, undo: Undo) -> oneshot::Receiver<()>;
}

/// Makes one try to undo an attempt; called for each try.
pub(crate) type Undo =
    Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<()>> + Send>> + Send + Sync>;

/// One acquire, as a backend receives it. Not `Clone`, since each attempt is made once.
#[derive(Debug)]
#[non_exhaustive]
pub struct AcquireRequest {
    /// The name of the lock.
    pub name: LockName,
    /// The attempt's identity, its cancellation, and the channel for a loss.
    pub attempt: Attempt,
    /// How long a grant lives without a renewal; within the backend's bounds.
    pub ttl: Duration,
    /// Whether to wait.
    pub wait: Wait,
    /// The end of core's wait; `None` without a limit. A hint: core cancels the attempt then.
    pub wait_until: Option<BootInstant>,
    /// Exclusive or shared; only modes that the backend has.
    pub mode: Mode,
    /// Whether the lease will be renewed.
    pub renewal: Renewal,
    /// A note of the holder, for people who [inspect](crate::Holder) the lock.
    pub note: Option<Arc<str>>,
    clock: Clock,
    background: Arc<dyn Background>,
}

impl AcquireRequest {
    /// The longest note, in bytes.
    pub const NOTE_BYTES_MAX: usize = 255;

    pub(crate) fn new(
        background: Arc<dyn Background>,
        clock: Clock,
        name: LockName,
        ttl: Duration,
        wait: Wait,
    ) -> Self {
        Self {
            name,
            attempt: Attempt::new(),
            ttl,
            wait,
            wait_until: None,
            mode: Mode::Exclusive,
            renewal: Renewal::Auto,
            note: None,
            clock,
            background,
        }
    }

    /// Timestamps the request. Call it before sending: the lease's deadline counts from it.
    #[must_use]
    pub fn sent_now(&self) -> SentAt {
        SentAt::now(&self.clock)
    }

    /// The clock that all times of this attempt are read from.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Undoes an attempt whose effect is unknown: the store may have granted it (K9).
    ///
    /// `undo` frees what the attempt may have got, and succeeds also if that is nothing. The locker tries
    /// it in the background, as it tries releases: until it succeeds, until `until`, or until the locker
    /// has ended. A shutdown waits for it. Each try is dropped after
    /// [`RELEASE_TRY_MAX`](crate::backend::RELEASE_TRY_MAX).
    ///
    /// The future ends with the last try.
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    ///
    /// use dlock_core::{backend::AcquireRequest, AttemptId, Result};
    ///
    /// # struct Store;
    /// # impl Store { async fn free(&self, _: AttemptId) -> Result<()> { Ok(()) } }
    /// async fn unanswered(store: Arc<Store>, request: &AcquireRequest) {
    ///     let id = request.attempt.id();
    ///     // As long as anything can be left of it.
    ///     let until = request.clock().now().after(request.ttl);
    ///     let undone = request.undo(until, move || {
    ///         let store = store.clone();
    ///         async move { store.free(id).await }
    ///     });
    ///     // As long as the caller shall wait for it.
    ///     let _ = tokio::time::timeout(Duration::from_secs(1), undone).await;
    /// }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Safe: all goes on in the background from the call on, whether the future is polled or not.
    pub fn undo<C, F>(
        &self,
        until: BootInstant,
        undo: C,
    ) -> impl Future<Output = ()> + Send + use<C, F>
    where
        C: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let undo: Undo = Box::new(move || Box::pin(undo()));
        let undone = self.background.clone().undo(until, undo);
        async {
            // An error is its end, too: the sender is gone.
            let _ = undone.await;
        }
    }

    /// Makes the lease of a grant that was requested at `sent` and that the store ends after `granted_ttl`.
    ///
    /// `handle` is a value that the backend finds again in [`Lease::handle`] when it renews or releases. It may be
    /// a connection, a descriptor, the leases of a layer, or `()`.
    ///
    /// ```
    /// use dlock_core::{Error, Result, Token, backend::{AcquireRequest, Lease}};
    ///
    /// # struct Store;
    /// # impl Store { async fn set_if_absent(&self, _: &str, _: u128) -> Result<Option<Token>> { Ok(None) } }
    /// async fn try_once(store: &Store, request: &AcquireRequest) -> Result<Lease> {
    ///     let (name, id) = (request.name.as_str(), request.attempt.id().as_u128());
    ///     let sent = request.sent_now();
    ///     let token = store.set_if_absent(name, id).await?;
    ///     let token = token.ok_or_else(Error::contended)?;
    ///     Ok(request.granted(sent, request.ttl, token, ()))
    /// }
    /// ```
    #[must_use]
    pub fn granted(
        &self,
        sent: SentAt,
        granted_ttl: Duration,
        token: Token,
        handle: impl Any + Send + Sync,
    ) -> Lease {
        self.granted_until(sent.deadline(self.ttl, granted_ttl), token, handle)
    }

    /// Makes the lease of a grant that ends with the process ([`Expiry::Process`](crate::Expiry)): without
    /// a deadline, or after the ttl if it is not renewed.
    #[must_use]
    pub fn granted_to_process(
        &self,
        sent: SentAt,
        token: Token,
        handle: impl Any + Send + Sync,
    ) -> Lease {
        let deadline = match self.renewal {
            Renewal::Auto => Deadline::FOREVER,
            Renewal::None => sent.deadline(self.ttl, self.ttl),
        };
        self.granted_until(deadline, token, handle)
    }

    /// Makes the lease of a grant whose deadline is known otherwise: a layer's, from the deadlines of the
    /// leases inside; a session's, from its last acknowledged keep-alive.
    ///
    /// ```
    /// use dlock_core::{Token, backend::{AcquireRequest, Lease, SentAt}};
    ///
    /// /// A session of the store, which keeps all its locks alive.
    /// struct Session {
    ///     id: u64,
    ///     /// When the last keep-alive was sent that the server has acknowledged.
    ///     acknowledged: SentAt,
    /// }
    ///
    /// fn grant(request: &AcquireRequest, session: &Session, token: Token) -> Lease {
    ///     let deadline = session.acknowledged.deadline(request.ttl, request.ttl);
    ///     request.granted_until(deadline, token, session.id)
    /// }
    /// ```
    #[must_use]
    pub fn granted_until(
        &self,
        deadline: Deadline,
        token: Token,
        handle: impl Any + Send + Sync,
    ) -> Lease {
        Lease {
            name: self.name.clone(),
            attempt: self.attempt.clone(),
            token,
            ttl: self.ttl,
            deadline,
            mode: self.mode,
            renewal: self.renewal,
            id: self.attempt.id(),
            clock: self.clock.clone(),
            handle: Box::new(handle),
        }
    }

    /// Makes the request that a layer sends to a backend inside it: the same identity, cancelled with this
    /// one. A loss goes to `on_lost`, which is called at most once, at once and from anywhere.
    ///
    /// The layer is to the inner attempt what core is to the outer one. It polls the backend's future to its end,
    /// and calls [`AcquireRequest::cancel_nested`] before it releases.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use dlock_core::{Result, backend::{AcquireRequest, DistributedLock, Lease}};
    ///
    /// /// Takes the lock in a store, and reports its loss as that of the outer attempt.
    /// async fn forward(store: Arc<dyn DistributedLock>, request: &AcquireRequest) -> Result<Lease> {
    ///     let outer = request.attempt.clone();
    ///     let nested = request.nested(move |cause| outer.report_lost(cause));
    ///     let inner = store.acquire(&nested).await?;
    ///     let (deadline, token) = (inner.deadline, inner.token);
    ///     // Renewals and releases find the inner lease in the handle.
    ///     Ok(request.granted_until(deadline, token, (nested, inner)))
    /// }
    /// ```
    #[must_use]
    pub fn nested(&self, on_lost: impl Fn(LostCause) + Send + Sync + 'static) -> Self {
        let id = self.attempt.id();
        self.with_attempt(self.attempt.nested(id, Box::new(on_lost), None))
    }

    /// As [`nested`](Self::nested), for a layer that lets the backend inside wait: what that one reports in the
    /// meantime goes to `on_wait`.
    ///
    /// ```
    /// use dlock_core::backend::{AcquireRequest, WaitReport};
    ///
    /// /// The request to a store that this layer waits for: the outer wait ends as the inner one would.
    /// fn forward(request: &AcquireRequest) -> AcquireRequest {
    ///     let (lost, waits) = (request.attempt.clone(), request.attempt.clone());
    ///     request.nested_waiting(
    ///         move |cause| lost.report_lost(cause),
    ///         move |report| match report {
    ///             WaitReport::Unavailable(why) => waits.report_unavailable(why),
    ///             _ => waits.report_contended(),
    ///         },
    ///     )
    /// }
    /// ```
    #[must_use]
    pub fn nested_waiting(
        &self,
        on_lost: impl Fn(LostCause) + Send + Sync + 'static,
        on_wait: impl Fn(WaitReport<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.nested_as(self.attempt.id(), on_lost, on_wait)
    }

    /// As [`nested_waiting`](Self::nested_waiting), with an identity of its own: for a layer that takes a lock again
    /// after it has released it within the same acquire.
    ///
    /// A release that is still on its way frees the grants of its own identity only (K4).
    ///
    /// ```
    /// use dlock_core::backend::AcquireRequest;
    ///
    /// /// The request of a further round.
    /// fn again(request: &AcquireRequest) -> AcquireRequest {
    ///     let (lost, waits) = (request.attempt.clone(), request.attempt.clone());
    ///     let nested = request.nested_again(
    ///         move |cause| lost.report_lost(cause),
    ///         move |_| waits.report_contended(),
    ///     );
    ///     assert_ne!(nested.attempt.id(), request.attempt.id());
    ///     nested
    /// }
    /// ```
    #[must_use]
    pub fn nested_again(
        &self,
        on_lost: impl Fn(LostCause) + Send + Sync + 'static,
        on_wait: impl Fn(WaitReport<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.nested_as(AttemptId::random(), on_lost, on_wait)
    }

    fn nested_as(
        &self,
        id: AttemptId,
        on_lost: impl Fn(LostCause) + Send + Sync + 'static,
        on_wait: impl Fn(WaitReport<'_>) + Send + Sync + 'static,
    ) -> Self {
        let attempt = self
            .attempt
            .nested(id, Box::new(on_lost), Some(Box::new(on_wait)));
        self.with_attempt(attempt)
    }

    fn with_attempt(&self, attempt: Attempt) -> Self {
        Self {
            name: self.name.clone(),
            attempt,
            note: self.note.clone(),
            clock: self.clock.clone(),
            background: self.background.clone(),
            ..*self
        }
    }

    /// Cancels a [nested](Self::nested) attempt alone, or mutes its losses when its lease is about to be
    /// released.
    pub fn cancel_nested(&self) {
        self.attempt.cancel();
    }

    /// Returns the request with another wait; for layers that wait in their own way.
    #[must_use]
    pub fn with_wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }
}
