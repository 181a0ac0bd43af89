//! The one error of dlock.

mod kind;
mod line;
mod one_line;
mod unreachable;

use std::{borrow::Cow, error::Error as StdError, fmt};

pub use self::kind::{Effect, ErrorKind};
use self::one_line::one_line;
use crate::base::{cause::LostCause, name::LockName};

/// An error of dlock: one line for people, [`kind`](Self::kind) and [`effect`](Self::effect) for
/// programs.
///
/// The line has no password in it. It ends with the text of the error that this one came from, if there
/// is one; [`get_ref`](Self::get_ref) returns that error. As with [`std::io::Error`], `source()` goes on
/// below what the line has already said, so that a program that prints the whole chain repeats nothing.
///
/// ```
/// use dlock_core::{ErrorKind, Locker, memory::Memory};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dlock_core::Result<()> {
/// let locks = Locker::builder(Memory::new()).build()?;
/// let error = locks.acquire("two\nlines").await.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::InvalidInput);
/// assert!(error.to_string().starts_with("cannot acquire (memory): "));
/// # Ok(())
/// # }
/// ```
pub struct Error(Box<Inner>);

/// The result of dlock's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

struct Inner {
    kind: ErrorKind,
    effect: Effect,
    message: Cow<'static, str>,
    /// Why the URL may be wrong.
    url_hint: Option<&'static str>,
    operation: Option<&'static str>,
    backend: Option<&'static str>,
    /// The server that failed.
    address: Option<String>,
    name: Option<LockName>,
    cause: Option<LostCause>,
    source: Option<Box<dyn StdError + Send + Sync>>,
    /// Whether the message has the words of the source.
    is_source_quoted: bool,
}

impl Error {
    /// Makes an error of `kind`; `message` says what happened and, where it can, what to do.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            kind,
            effect: Effect::None,
            message: message.into(),
            url_hint: None,
            operation: None,
            backend: None,
            address: None,
            name: None,
            cause: None,
            source: None,
            is_source_quoted: false,
        }))
    }

    /// Makes the error of a lock that was lost for `cause`.
    #[must_use]
    pub fn lost(cause: LostCause) -> Self {
        let mut error = Self::new(ErrorKind::Lost, cause.as_str());
        error.0.cause = Some(cause);
        error
    }

    /// Makes the error of a lock that another holder has. For an attempt that was cancelled, see
    /// [`cancelled`](Self::cancelled).
    #[must_use]
    pub fn contended() -> Self {
        Self::contended_with(None)
    }

    pub(crate) fn contended_with(warning: Option<&str>) -> Self {
        let message = "another holder has it";
        match warning {
            None => Self::new(ErrorKind::Contended, message),
            Some(warning) => Self::new(ErrorKind::Contended, format!("{message}; {warning}")),
        }
    }

    /// Makes the error of an attempt that was [cancelled](crate::backend::Attempt::cancelled) and is undone.
    /// Core reports to the caller why the wait ended.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "the attempt was cancelled")
    }

    /// Makes the error of every call after the backend was closed.
    #[must_use]
    pub fn closed() -> Self {
        Self::new(ErrorKind::Unavailable, "this backend is closed")
    }

    /// Sets whether the request may have happened.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.0.effect = effect;
        self
    }

    /// Adds why the URL may be wrong: `if that port speaks TLS, use rediss://`. The line has it behind the message.
    ///
    /// It fits a server that has never answered; see [`without_url_hint`](Self::without_url_hint).
    ///
    /// ```
    /// use dlock_core::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Unavailable, "no connection").with_url_hint("is the port right?");
    /// assert_eq!(error.to_string(), "no connection; is the port right?");
    /// assert_eq!(error.without_url_hint().to_string(), "no connection");
    /// ```
    #[must_use]
    pub fn with_url_hint(mut self, hint: &'static str) -> Self {
        self.0.url_hint = Some(hint);
        self
    }

    /// Removes the [hint](Self::with_url_hint) that the URL may be wrong: the server has answered before.
    #[must_use]
    pub fn without_url_hint(mut self) -> Self {
        self.0.url_hint = None;
        self
    }

    /// Adds the error that this one came from. Its text is part of the line that is printed, so it
    /// must hold no secret.
    ///
    /// ```
    /// use dlock_core::{Error, ErrorKind};
    ///
    /// let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    /// let error = Error::new(ErrorKind::Unavailable, "no connection").with_source(refused);
    /// assert_eq!(error.to_string(), "no connection: connection refused");
    /// ```
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self.0.is_source_quoted = false;
        self
    }

    /// Adds the error that this one came from, and whose words the message has already: the line does not repeat them.
    #[must_use]
    pub fn with_quoted_source(
        mut self,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self.0.is_source_quoted = true;
        self
    }

    /// Adds the server that failed, as `host:port`. An address that is there already stays: it comes from nearer to the
    /// failure.
    ///
    /// ```
    /// use dlock_core::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Unavailable, "no answer in 5s").at("db-1:6379");
    /// let error = error.in_context("connect", "redis", None);
    /// assert_eq!(error.to_string(), "cannot connect to redis at db-1:6379: no answer in 5s");
    /// ```
    #[must_use]
    pub fn at(mut self, address: impl fmt::Display) -> Self {
        self.0.address.get_or_insert_with(|| address.to_string());
        self
    }

    /// Adds the operation, the backend and the lock. What is set already stays: it comes from nearer to
    /// the failure.
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

    /// A copy of the error for another caller that it concerns; of its source it has the text.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        let inner = &*self.0;
        let mut error = Self::new(inner.kind, inner.message.clone()).with_effect(inner.effect);
        error.0.url_hint = inner.url_hint;
        error.0.address.clone_from(&inner.address);
        error.0.cause = inner.cause;
        error.0.source = inner.source.as_ref().map(|source| one_line(source).into());
        error.0.is_source_quoted = inner.is_source_quoted;
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

    /// The error that this one came from, to be downcast to a driver's type.
    ///
    /// [`Display`](fmt::Display) has its text already, so `source()` does not return it.
    ///
    /// ```
    /// use std::io;
    ///
    /// use dlock_core::Error;
    ///
    /// fn is_refused(error: &Error) -> bool {
    ///     let io = error.get_ref().and_then(|source| source.downcast_ref::<io::Error>());
    ///     io.is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused)
    /// }
    /// ```
    #[must_use]
    pub fn get_ref(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.0.source.as_deref()
    }

    /// The kind of the error, to decide by.
    ///
    /// ```
    /// use dlock_core::{Error, ErrorKind};
    ///
    /// fn advice(error: &Error) -> &'static str {
    ///     match error.kind() {
    ///         ErrorKind::Contended => "another process works on it",
    ///         ErrorKind::Unavailable => "try again later",
    ///         _ => "inform an administrator",
    ///     }
    /// }
    /// # assert_eq!(advice(&Error::contended()), "another process works on it");
    /// ```
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the request may have happened.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.0.effect
    }

    /// The operation that failed: `"acquire"`, `"renew"`, `"release"`, `"inspect"`, `"connect"`, `"close"`.
    #[must_use]
    pub fn operation(&self) -> Option<&'static str> {
        self.0.operation
    }

    /// The backend that failed.
    #[must_use]
    pub fn backend(&self) -> Option<&'static str> {
        self.0.backend
    }

    /// The server that failed, as `host:port`, where it is known.
    #[must_use]
    pub fn address(&self) -> Option<&str> {
        self.0.address.as_deref()
    }

    /// The lock that the operation was for.
    #[must_use]
    pub fn name(&self) -> Option<&LockName> {
        self.0.name.as_ref()
    }

    /// The cause of the loss, for [`ErrorKind::Lost`].
    #[must_use]
    pub fn lost_cause(&self) -> Option<LostCause> {
        self.0.cause
    }
}

#[cfg(test)]
mod tests;
