//! The spans `dlock.acquire` and `dlock.hold`, for OpenTelemetry and other subscribers of `tracing`.
//!
//! Each is disabled without a subscriber. Both together then cost a twentieth of an acquire from `memory:`. A hold is
//! a child of the caller's span and not of the acquire: a span ends only after its children.

use tracing::{Span, field::Empty};

use crate::{
    backend::{lease::Lease, request::AcquireRequest},
    base::{
        error::{Error, ErrorKind, Result},
        lock::Lock,
        token::Token,
    },
};

/// The name of an outcome.
const CANCELLED: &str = "cancelled";
const GRANTED: &str = "granted";

/// The span of an acquire, from its first request to its result. Dropped without a result, it was cancelled.
pub(crate) struct AcquireSpan {
    span: Span,
    has_ended: bool,
}

impl AcquireSpan {
    pub(crate) fn new(store: &'static str, request: &AcquireRequest) -> Self {
        let span = tracing::info_span!(
            "dlock.acquire",
            store,
            name = %request.name,
            attempt = %request.attempt.id(),
            token = Empty,
            outcome = Empty,
        );
        Self {
            span,
            has_ended: false,
        }
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    /// Ends the span with the token of a grant, or the kind of an error.
    pub(crate) fn end(mut self, result: Result<Token, &Error>) {
        self.has_ended = true;
        match result {
            Ok(token) => {
                self.span.record("token", token.get());
                self.span.record("outcome", GRANTED);
            }
            Err(error) => {
                self.span.record("outcome", outcome(error.kind()));
            }
        }
    }
}

impl Drop for AcquireSpan {
    fn drop(&mut self) {
        if !self.has_ended {
            self.span.record("outcome", CANCELLED);
        }
    }
}

/// The word for an error of an acquire.
fn outcome(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Contended => "contended",
        ErrorKind::Cancelled => CANCELLED,
        ErrorKind::Lost => "lost",
        ErrorKind::Unavailable => "unavailable",
        ErrorKind::Denied => "denied",
        ErrorKind::InvalidInput | ErrorKind::InvalidConfig => "invalid",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::Internal => "internal",
    }
}

/// The span of a hold, from its grant to its release or loss.
pub(crate) struct HoldSpan(Lock<Option<Span>>);

impl HoldSpan {
    /// Begins the span as a child of `parent`, which is that of the acquire's caller.
    pub(crate) fn new(parent: &Span, store: &'static str, lease: &Lease, token: Token) -> Self {
        let span = tracing::info_span!(
            parent: parent,
            "dlock.hold",
            store,
            name = %lease.name,
            attempt = %lease.id(),
            token = token.get(),
            outcome = Empty,
        );
        Self(Lock::new(Some(span)))
    }

    /// Ends the span; later calls change nothing.
    pub(crate) fn end(&self, outcome: &'static str) {
        // A subscriber is called without the lock.
        let span = self.0.lock().take();
        if let Some(span) = span {
            span.record("outcome", outcome);
        }
    }
}
