//! What a backend is asked for.

use std::{any::Any, future::Future, sync::Arc, time::Duration};

use crate::{
    attempt::Attempt,
    cause::LostCause,
    clock::{BootInstant, Clock},
    core::Core,
    deadline::{Deadline, SentAt},
    error::Result,
    lease::Lease,
    name::LockName,
    reaper::Reaper,
    token::Token,
};

/// Whether others may hold the lock too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Nobody else.
    #[default]
    Exclusive,
    /// Others that hold it shared.
    Shared,
}

/// What a backend does when the lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// It answers `Contended`, after having asked the store once.
    Never,
    /// It waits until it is granted or the attempt is [cancelled](Attempt::cancelled). Core owns the
    /// time-out.
    UntilCancelled,
}

/// Who keeps the lock alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Renewal {
    /// The locker, until the guard ends.
    #[default]
    Auto,
    /// Nobody: it ends after its ttl, whatever else lives on.
    None,
}

/// One acquire, as a backend sees it. Not `Clone`: an attempt is one thing.
#[derive(Debug)]
#[non_exhaustive]
pub struct AcquireRequest {
    /// What to lock.
    pub name: LockName,
    /// Its identity, its cancellation, and where a loss is told.
    pub attempt: Attempt,
    /// How long a grant lives without a renewal; within the backend's bounds.
    pub ttl: Duration,
    /// Whether to wait.
    pub wait: Wait,
    /// Until when core will wait, if it will not wait for ever. A hint: core cancels the attempt
    /// then.
    pub wait_until: Option<BootInstant>,
    /// Exclusive or shared; one that the backend has.
    pub mode: Mode,
    /// Whether the lease will be renewed.
    pub renewal: Renewal,
    /// What the holder says of itself, for people who [inspect](crate::Holder) the lock.
    pub note: Option<Arc<str>>,
    core: Arc<Core>,
}

impl AcquireRequest {
    /// The longest note, in bytes.
    pub const NOTE_BYTES_MAX: usize = 255;

    pub(crate) fn new(core: Arc<Core>, name: LockName, ttl: Duration, wait: Wait) -> Self {
        Self {
            name,
            attempt: Attempt::new(),
            ttl,
            wait,
            wait_until: None,
            mode: Mode::Exclusive,
            renewal: Renewal::Auto,
            note: None,
            core,
        }
    }

    /// Reads the clock; to be called before the request is sent that a grant will be proved by.
    #[must_use]
    pub fn sent_now(&self) -> SentAt {
        SentAt::now(&self.core.clock)
    }

    /// The clock that all times of this attempt are read from.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.core.clock
    }

    /// Undoes an attempt that the store may have granted though nobody heard so (K9). `clear` frees what
    /// it may have got, and succeeds also if that is nothing. The locker tries it in the background, as
    /// it tries releases: until it succeeds, until `over`, or until the locker has ended; a shutdown
    /// waits for it. Each try is dropped after [`RELEASE_TRY_MAX`](crate::RELEASE_TRY_MAX).
    ///
    /// Ends when that has ended.
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    ///
    /// use dlock_core::{AcquireRequest, AttemptId, Result};
    ///
    /// # struct Store;
    /// # impl Store { async fn free(&self, _: AttemptId) -> Result<()> { Ok(()) } }
    /// async fn unanswered(store: Arc<Store>, request: &AcquireRequest) {
    ///     let id = request.attempt.id();
    ///     // As long as anything can be left of it.
    ///     let over = request.clock().now().after(request.ttl);
    ///     let undone = request.undo(over, move || {
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
        over: BootInstant,
        clear: C,
    ) -> impl Future<Output = ()> + Send + use<C, F>
    where
        C: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let undone = Reaper::undo(self.core.clone(), over, clear);
        async {
            // There is nothing to hear but its end.
            let _ = undone.await;
        }
    }

    /// The lease of a grant that was asked for at `sent` and that the store ends after
    /// `granted_ttl`.
    ///
    /// `handle` is whatever the backend wants to find again in [`Lease::handle`] when it renews or
    /// releases: a connection, a descriptor, the leases of a layer; or `()`.
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

    /// The lease of a grant that ends with the process ([`Expiry::Process`](crate::Expiry)): without
    /// a deadline, or after the ttl if nobody renews it.
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

    /// The lease of a grant whose deadline is known otherwise: a layer's, from the deadlines of the
    /// leases inside; a session's, from its last acknowledged keep-alive.
    #[must_use]
    pub fn granted_until(
        &self,
        deadline: Deadline,
        token: Token,
        handle: impl Any + Send + Sync,
    ) -> Lease {
        Lease::new(self, deadline, token, Box::new(handle))
    }

    /// The request that a layer makes of a backend inside it: the same identity, cancelled with this
    /// one, while a loss goes to `on_lost`, which is called at most once, at once and from anywhere.
    ///
    /// The layer is to the inner attempt what core is to the outer one: it polls the backend's
    /// future to its end, and calls [`AcquireRequest::cancel_nested`] before it releases.
    #[must_use]
    pub fn nested(&self, on_lost: impl Fn(LostCause) + Send + Sync + 'static) -> Self {
        Self {
            name: self.name.clone(),
            attempt: self.attempt.nested(Box::new(on_lost)),
            note: self.note.clone(),
            core: self.core.clone(),
            ..*self
        }
    }

    /// Cancels an [nested](Self::nested) attempt alone, or mutes its losses when its lease is about to
    /// be released.
    pub fn cancel_nested(&self) {
        self.attempt.cancel();
    }

    /// The same request with another wait; for layers that wait in their own way.
    #[must_use]
    pub fn with_wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }
}
