//! The lease: a grant, as core and backend share it.

use std::{any::Any, fmt, time::Duration};

use crate::{
    backend::{
        attempt::Attempt,
        attempt_id::AttemptId,
        options::{Mode, Renewal},
    },
    base::{
        cause::LostCause,
        clock::Clock,
        deadline::{Deadline, SentAt},
        name::LockName,
        token::Token,
    },
};

/// A grant of a lock: made by [`AcquireRequest::granted`](crate::backend::AcquireRequest::granted) and the
/// functions beside it.
///
/// A lease never leaves its process: the deadline is on this boot's clock, and the handle may be a
/// connection.
#[non_exhaustive]
pub struct Lease {
    /// The name of the lock.
    pub name: LockName,
    /// The attempt that was granted; [`Attempt::report_lost`] notifies its guard of a loss.
    pub attempt: Attempt,
    /// The token that the store gave.
    pub token: Token,
    /// The ttl that was requested.
    pub ttl: Duration,
    /// The deadline of the grant. A renewal moves the guard's deadline, not this one.
    pub deadline: Deadline,
    /// Exclusive or shared.
    pub mode: Mode,
    /// Whether core renews it.
    pub renewal: Renewal,
    /// The identity that the store has of the grant.
    pub(super) id: AttemptId,
    pub(super) clock: Clock,
    pub(super) handle: Box<dyn Any + Send + Sync>,
}

impl Lease {
    /// The identity of the grant in its store, as [`Holder`](crate::Holder) shows it: that of the attempt, unless a layer
    /// gave it [another one](Self::with_id).
    #[must_use]
    pub fn id(&self) -> AttemptId {
        self.id
    }

    /// Sets the identity: for a layer whose request inside has [one of its
    /// own](crate::backend::AcquireRequest::nested_again).
    ///
    /// ```
    /// use dlock_core::{Result, backend::{AcquireRequest, DistributedLock, Lease}};
    ///
    /// /// Takes the lock in a store once more.
    /// async fn again(store: &dyn DistributedLock, request: &AcquireRequest) -> Result<Lease> {
    ///     let outer = request.attempt.clone();
    ///     let nested = request.nested_again(move |cause| outer.report_lost(cause), |_| {});
    ///     let inner = store.acquire(&nested).await?;
    ///     let (deadline, token, id) = (inner.deadline, inner.token, inner.id());
    ///     Ok(request.granted_until(deadline, token, (nested, inner)).with_id(id))
    /// }
    /// ```
    #[must_use]
    pub fn with_id(mut self, id: AttemptId) -> Self {
        self.id = id;
        self
    }

    /// Timestamps a renewal. Call it before the request is sent: the new deadline counts from it.
    #[must_use]
    pub fn sent_now(&self) -> SentAt {
        SentAt::now(&self.clock)
    }

    /// The clock that all times of this lease are read from.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Makes the result of a renewal that was requested at `sent` and that the store ends after
    /// `granted_ttl`.
    #[must_use]
    pub fn renewed(&self, sent: SentAt, granted_ttl: Duration) -> Renewed {
        Renewed::Until(sent.deadline(self.ttl, granted_ttl))
    }

    /// The handle that the backend gave, if it is a `T`.
    #[must_use]
    pub fn handle<T: Any>(&self) -> Option<&T> {
        self.handle.downcast_ref()
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("name", &self.name)
            .field("attempt", &self.attempt)
            .field("token", &self.token)
            .field("ttl", &self.ttl)
            .field("deadline", &self.deadline)
            .field("mode", &self.mode)
            .field("renewal", &self.renewal)
            .finish_non_exhaustive()
    }
}

/// The result of a renewal (K3). After an error the result is unknown, and the old deadline stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Renewed {
    /// The lock is held until then.
    Until(Deadline),
    /// The lock is not held any more.
    Lost(LostCause),
}
