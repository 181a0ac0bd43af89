//! Drives one attempt: in place while its caller waits, handed over to the locker when dropped.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tracing::Span;

use crate::{
    backend::{attempt::Attempt, options::Wait, request::AcquireRequest, state::Phase},
    base::{
        clock::BootInstant,
        error::{Effect, Error, ErrorKind, Result},
    },
    client::guard::Guard,
    engine::{
        call::catch_panic,
        cleanup::Work,
        hold::Hold,
        local_queue::{Admission, Permit},
        metrics::StoreOp,
        shared::Shared,
    },
};

/// Takes the lock as `request` says, waiting until `until` at most. The span of the hold is a child of `parent`.
///
/// Not an `async fn`, which would have its arguments twice: this future is allocated and moved for each acquire.
#[expect(clippy::manual_async_fn, reason = "it is smaller")]
pub(crate) fn drive(
    shared: Arc<Shared>,
    request: AcquireRequest,
    until: BootInstant,
    parent: Span,
) -> impl Future<Output = Result<Guard>> + Send {
    async move {
        // A backend that answers without waiting would let a loop of acquires starve the renewals (K13).
        tokio::task::coop::consume_budget().await;
        if shared.closed.is_cancelled() {
            return Err(shared.closed_error());
        }
        let waiting = Waiting::begin(&shared);
        let attempt = request.attempt.clone();
        let end = EndOfWait {
            shared: shared.clone(),
            until,
        };
        let permit = match request.wait {
            // K6: a try sends its request to the store itself, without waiting for other attempts of this
            // process.
            Wait::Never => None,
            Wait::UntilCancelled => Some(end.wait_for_turn(&request).await?),
        };
        let may_wait = permit.is_some();
        // A try that times out is not `Contended`: the store never answered.
        let why = || {
            let why = attempt.wait_error();
            why.filter(|why| may_wait || why.kind() != ErrorKind::Contended)
        };
        let mut driven = Driven::new(shared.clone(), request, parent);
        let result = tokio::select! {
            biased;
            result = &mut driven => result,
            // Only a grant precedes the end, and that was checked just now.
            error = end.reached(why) => Err(match error.kind() {
                ErrorKind::Contended => error,
                // Its answer is missing: it may be granted at this moment, and is undone then (K9).
                _ => error.with_effect(Effect::Unknown),
            }),
        };
        if let Some(permit) = permit {
            permit.leave(result.is_ok() || attempt.is_contended());
        }
        drop(waiting);
        result
    }
}

/// The end of an attempt without a grant: its wait is over, or the locker ends.
struct EndOfWait {
    shared: Arc<Shared>,
    until: BootInstant,
}

impl EndOfWait {
    /// Waits for the turn of `request` in its locker.
    async fn wait_for_turn(&self, request: &AcquireRequest) -> Result<Permit> {
        let queue = &self.shared.local_queue;
        match queue.enter(&request.name, request.mode, &request.attempt) {
            Admission::Admitted(permit) => Ok(permit),
            Admission::Queued(turn) => tokio::select! {
                biased;
                permit = turn => permit.map_err(|_| self.shared.closed_error()),
                error = self.reached(|| queue.wait_error(&request.name)) => Err(error),
            },
        }
    }

    /// Waits for the end, and says why there was no grant: what `why` knows then, or the store did not
    /// answer (K6).
    async fn reached(&self, why: impl Fn() -> Option<Error>) -> Error {
        tokio::select! {
            biased;
            () = self.shared.closed.cancelled() => self.shared.closed_error(),
            () = self.shared.clock.sleep_until_despite_suspend(self.until) => {
                let no_answer = "the store did not answer in time";
                why().unwrap_or_else(|| Error::new(ErrorKind::Unavailable, no_answer))
            }
        }
    }
}

/// The backend's future. Polled by the caller; when the caller is gone, the attempt is cancelled and
/// the locker's own task polls it to its end (K7).
struct Driven {
    shared: Arc<Shared>,
    attempt: Attempt,
    work: Option<Work<Result<Guard>>>,
}

impl Driven {
    fn new(shared: Arc<Shared>, request: AcquireRequest, parent: Span) -> Self {
        let attempt = request.attempt.clone();
        let work = Some(Self::start(shared.clone(), request, parent));
        Self {
            shared,
            attempt,
            work,
        }
    }

    fn start(shared: Arc<Shared>, request: AcquireRequest, parent: Span) -> Work<Result<Guard>> {
        let home = shared.clone();
        let in_flight = shared.in_flight.track();
        let work = async move {
            let _in_flight = in_flight;
            // A shutdown that did not see this attempt under way closes the backend.
            if shared.closed.is_cancelled() {
                return Err(shared.closed_error());
            }
            if let Some(watch) = &shared.migration {
                watch.begin(&request.attempt).await?;
            }
            let sent = shared.clock.now();
            let answer = catch_panic(shared.backend.acquire(&request)).await;
            let attempt = &request.attempt;
            let has_waited = request.wait != Wait::Never && attempt.is_contended();
            let answered = shared.clock.now();
            if !has_waited && !attempt.is_cancelled() {
                let took = answered.since(sent);
                shared.metrics.store_took(StoreOp::Acquire, took);
            }
            match answer {
                // A guard, as nothing else releases it when its caller goes away at this moment.
                Ok(lease) => {
                    let admitted = match &shared.migration {
                        Some(watch) => watch.admit(attempt).await,
                        None => Ok(()),
                    };
                    let since = shared.clock.now();
                    Hold::grant(&shared, lease, admitted, since, &parent).map(Guard::new)
                }
                Err(error) => Err(match attempt.state().phase() {
                    Phase::Lost(cause) => Error::lost(cause),
                    _ => error,
                }),
            }
        };
        Box::pin(home.on_home_runtime(work))
    }
}

impl Future for Driven {
    type Output = Result<Guard>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = self.work.as_mut() else {
            return Poll::Pending;
        };
        let result = std::task::ready!(work.as_mut().poll(cx));
        self.work = None;
        Poll::Ready(result)
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.attempt.cancel();
            self.shared.cleanup.finish(Box::pin(async move {
                // A grant that comes after the cancellation is released by `Hold::grant`.
                if let Err(error) = work.await {
                    tracing::trace!(%error, "a cancelled attempt has ended");
                }
            }));
        }
    }
}

/// Counts an attempt as waiting for as long as it lives.
struct Waiting {
    shared: Arc<Shared>,
    since: BootInstant,
}

impl Waiting {
    fn begin(shared: &Arc<Shared>) -> Self {
        shared.metrics.waiting();
        Self {
            shared: shared.clone(),
            since: shared.clock.now(),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.shared
            .metrics
            .waited(self.shared.clock.now().since(self.since));
    }
}
