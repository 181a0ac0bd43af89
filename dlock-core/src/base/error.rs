//! The one error of dlock.

use std::{borrow::Cow, error::Error as StdError, fmt};

use crate::base::{cause::LostCause, name::LockName};

/// What went wrong, for a program to decide by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Another holder has the lock, and the wait is over.
    Contended,
    /// The attempt was cancelled: its caller dropped it, or its wait is over. Only backends see it.
    Cancelled,
    /// The lock was held and is not any more.
    Lost,
    /// The store could not be asked, or did not answer in time; a later try may succeed.
    Unavailable,
    /// The store refused the request: wrong password, missing permission.
    Denied,
    /// A name, ttl, wait or note is not allowed.
    InvalidInput,
    /// A URL, configuration file or option is wrong.
    InvalidConfig,
    /// The backend cannot do what was asked for.
    Unsupported,
    /// A defect in dlock, in a backend, or an answer of the store that makes no sense.
    Internal,
}

/// Whether the request that failed may have happened all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// It did not happen, and nothing is left of it.
    None,
    /// It may have happened: the answer is missing.
    Unknown,
}

/// An error of dlock: one line for people, [`kind`](Self::kind) and [`effect`](Self::effect) for
/// programs.
///
/// It never holds a password.
pub struct Error(Box<Inner>);

/// What dlock's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

struct Inner {
    kind: ErrorKind,
    effect: Effect,
    message: Cow<'static, str>,
    operation: Option<&'static str>,
    backend: Option<&'static str>,
    name: Option<LockName>,
    cause: Option<LostCause>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of `kind`; `message` says what happened and, where it can, what to do.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            kind,
            effect: Effect::None,
            message: message.into(),
            operation: None,
            backend: None,
            name: None,
            cause: None,
            source: None,
        }))
    }

    /// The lock was lost for `cause`.
    #[must_use]
    pub fn lost(cause: LostCause) -> Self {
        let mut error = Self::new(ErrorKind::Lost, cause.as_str());
        error.0.cause = Some(cause);
        error
    }

    /// Another holder has the lock. For an attempt that was cancelled, see [`cancelled`](Self::cancelled).
    #[must_use]
    pub fn contended() -> Self {
        Self::contended_with(None)
    }

    pub(crate) fn contended_with(warning: Option<&str>) -> Self {
        let message = "somebody else holds it";
        match warning {
            None => Self::new(ErrorKind::Contended, message),
            Some(warning) => Self::new(ErrorKind::Contended, format!("{message}; {warning}")),
        }
    }

    /// The attempt was [cancelled](crate::backend::Attempt::cancelled), and is undone. Core reports to the caller
    /// why the wait ended.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "the attempt was cancelled")
    }

    /// The backend was closed: the error of every call after that.
    #[must_use]
    pub fn closed() -> Self {
        Self::new(ErrorKind::Unavailable, "this backend is closed")
    }

    /// Says whether the request may have happened.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.0.effect = effect;
        self
    }

    /// Adds the error that this one came from. Its text is part of the line that is printed, so it
    /// must hold no secret.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Adds what was being done, with which backend and which lock; what is there already stays: it
    /// comes from nearer to the failure.
    #[must_use]
    pub fn in_context(
        mut self,
        operation: &'static str,
        backend: &'static str,
        name: Option<&LockName>,
    ) -> Self {
        self.0.operation.get_or_insert(operation);
        self.0.backend.get_or_insert(backend);
        if self.0.name.is_none() {
            self.0.name = name.cloned();
        }
        self
    }

    /// A copy of the error for another caller that it concerns; the text of its source is in its message.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        let inner = &*self.0;
        let message = inner.source.as_ref().map_or_else(
            || inner.message.clone(),
            |source| format!("{}: {}", inner.message, one_line(source)).into(),
        );
        let mut error = Self::new(inner.kind, message).with_effect(inner.effect);
        error.0.cause = inner.cause;
        error
    }

    /// Whether another holder has the lock: the kind is [`Contended`](ErrorKind::Contended).
    #[must_use]
    pub fn is_contended(&self) -> bool {
        self.kind() == ErrorKind::Contended
    }

    /// Whether the lock was held and is not any more: the kind is [`Lost`](ErrorKind::Lost).
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.kind() == ErrorKind::Lost
    }

    /// Whether the same request may succeed later without a change: the kind is
    /// [`Contended`](ErrorKind::Contended) or [`Unavailable`](ErrorKind::Unavailable).
    ///
    /// ```
    /// use dlock_core::{Error, ErrorKind};
    ///
    /// assert!(Error::new(ErrorKind::Unavailable, "no answer").is_retryable());
    /// assert!(!Error::new(ErrorKind::Denied, "wrong password").is_retryable());
    /// ```
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind(), ErrorKind::Contended | ErrorKind::Unavailable)
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the request may have happened.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.0.effect
    }

    /// What was being done: `"acquire"`, `"renew"`, `"release"`, `"inspect"`, `"connect"`, `"close"`.
    #[must_use]
    pub fn operation(&self) -> Option<&'static str> {
        self.0.operation
    }

    /// The backend it happened in.
    #[must_use]
    pub fn backend(&self) -> Option<&'static str> {
        self.0.backend
    }

    /// The lock it happened to.
    #[must_use]
    pub fn name(&self) -> Option<&LockName> {
        self.0.name.as_ref()
    }

    /// Why the lock was lost, for [`ErrorKind::Lost`].
    #[must_use]
    pub fn lost_cause(&self) -> Option<LostCause> {
        self.0.cause
    }
}

impl fmt::Display for Error {
    /// One line: `cannot acquire "seat/14C" (redis): somebody else holds it`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        match (inner.kind, inner.operation, &inner.name) {
            (ErrorKind::Lost, _, Some(name)) => write!(f, "lost {name:?}")?,
            (_, Some(operation), Some(name)) => write!(f, "cannot {operation} {name:?}")?,
            (_, Some(operation), None) => write!(f, "cannot {operation}")?,
            (_, None, _) => {}
        }
        if inner.operation.is_some() {
            if let Some(backend) = inner.backend {
                write!(f, " ({backend})")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&inner.message)?;
        if let Some(source) = &inner.source {
            write!(f, ": {}", one_line(source))?;
        }
        Ok(())
    }
}

/// Drivers like to print several lines; our errors are one.
fn one_line(source: &impl fmt::Display) -> String {
    let text = source.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        f.debug_struct("Error")
            .field("kind", &inner.kind)
            .field("effect", &inner.effect)
            .field("operation", &inner.operation)
            .field("backend", &inner.backend)
            .field("name", &inner.name)
            .field("message", &inner.message)
            .field("source", &inner.source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_is_one_line_with_context() {
        let name = LockName::new("seat/14C").expect("name");
        let error = Error::new(ErrorKind::Unavailable, "no answer")
            .with_source("refused\n  by peer")
            .in_context("acquire", "redis", Some(&name));
        let line = "cannot acquire \"seat/14C\" (redis): no answer: refused by peer";
        assert_eq!(error.to_string(), line);
        assert_eq!(error.duplicate().to_string(), "no answer: refused by peer");
    }

    #[test]
    fn context_of_the_inner_error_stays() {
        let error = Error::contended()
            .in_context("renew", "redis", None)
            .in_context("acquire", "quorum", None);
        assert_eq!(
            (error.operation(), error.backend()),
            (Some("renew"), Some("redis"))
        );
    }

    #[test]
    fn a_loss_names_its_cause() {
        let name = LockName::new("a").expect("name");
        let error = Error::lost(LostCause::Taken).in_context("release", "redis", Some(&name));
        assert_eq!(
            error.to_string(),
            "lost \"a\" (redis): somebody else holds it"
        );
        assert_eq!(error.lost_cause(), Some(LostCause::Taken));
    }
}
