//! Requests: to one member, and to the next one after a failure.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{Effect, Result, toolkit::Backoff};
use etcd_client::{Client, Error as DriverError};
use tokio::time::timeout;

use crate::{conn::members::Members, errors::Failure};

impl Members {
    /// Sends a request to a member, and to the next one if another member may answer. The request may be
    /// sent several times. Its effect is unknown if any of these may have been executed.
    ///
    /// Takes at most the URL's `timeout` for each member, twice for one of them, and the time of logins.
    pub(crate) async fn request<T, F>(
        self: &Arc<Self>,
        send: impl Fn(Arc<Client>) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, DriverError>>,
    {
        self.request_noting(&AtomicBool::new(false), send).await
    }

    /// Sends a request like [`request`](Self::request), and sets `effect_unknown` when a try without a reply may
    /// have been executed, or may be later.
    pub(crate) async fn request_noting<T, F>(
        self: &Arc<Self>,
        effect_unknown: &AtomicBool,
        send: impl Fn(Arc<Client>) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, DriverError>>,
    {
        self.request_within(self.config.timeouts.reply, effect_unknown, send)
            .await
    }

    /// Sends a request like [`request_noting`](Self::request_noting), with `max` for each member's reply.
    pub(crate) async fn request_within<T, F>(
        self: &Arc<Self>,
        max: Duration,
        effect_unknown: &AtomicBool,
        send: impl Fn(Arc<Client>) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, DriverError>>,
    {
        let mut tries = self.count() + 1;
        let mut timeouts = self.count();
        let mut any_unknown = false;
        loop {
            let Failure {
                error,
                ends_connection,
            } = match self.request_once(max, &send).await {
                Ok(reply) => return Ok(reply),
                Err((failure, timed_out)) => {
                    timeouts -= usize::from(timed_out);
                    failure
                }
            };
            tries -= 1;
            if error.effect() == Effect::Unknown {
                any_unknown = true;
                effect_unknown.store(true, Ordering::Release);
            }
            if !ends_connection || tries == 0 || timeouts == 0 || self.is_closed() {
                let effect = if any_unknown {
                    Effect::Unknown
                } else {
                    Effect::None
                };
                return Err(error.with_effect(effect));
            }
        }
    }

    /// Tries once; the failure says whether it was a time-out.
    async fn request_once<T, F>(
        self: &Arc<Self>,
        max: Duration,
        send: &impl Fn(Arc<Client>) -> F,
    ) -> Result<T, (Failure, bool)>
    where
        F: Future<Output = Result<T, DriverError>>,
    {
        let connection = self.connection().await.map_err(|error| {
            // All members were tried.
            let ends_connection = false;
            let failure = Failure {
                error,
                ends_connection,
            };
            (failure, false)
        })?;
        // Boxed, as the driver's futures have 3 KB: those of acquires and releases stay small.
        let sent = Box::pin(send(connection.client.clone()));
        // The effect of a request that is dropped before its reply is unknown; its caller assumes so.
        let (failure, timed_out) = match timeout(max, sent).await {
            Ok(Ok(reply)) => {
                self.note_answer();
                return Ok(reply);
            }
            Ok(Err(error)) => (self.failure(error, connection.index), false),
            Err(_) => (self.timed_out(max, connection.index), true),
        };
        if failure.ends_connection {
            self.abandon(connection.generation());
        }
        Err((failure, timed_out))
    }

    /// Retries `send` until the store confirms it. Ends also when `is_needless` says so after a failure,
    /// and when the backend is closed.
    pub(crate) async fn retry_until_confirmed<F>(
        &self,
        is_needless: impl Fn() -> bool,
        send: impl Fn() -> F,
    ) where
        F: Future<Output = Result<()>>,
    {
        let mut backoff = Backoff::new();
        while let Err(error) = send().await {
            if is_needless() || self.is_closed() {
                return;
            }
            tracing::debug!(%error, "the undo is not confirmed yet");
            tokio::time::sleep(backoff.next_pause()).await;
        }
    }
}
