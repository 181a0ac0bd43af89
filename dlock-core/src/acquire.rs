//! Drives one attempt: in place while its caller waits, handed over to the locker when dropped.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use crate::{
    attempt::Attempt,
    clock::BootInstant,
    core::Core,
    error::{Effect, Error, ErrorKind, Result},
    gate::{Entry, Pass},
    guard::Guard,
    hold::{Hold, contained},
    reaper::Flight,
    request::{AcquireRequest, Wait},
    state::Phase,
};

/// Takes the lock as `request` says, waiting until `until` at most.
pub(crate) async fn acquire(
    core: Arc<Core>,
    request: AcquireRequest,
    until: BootInstant,
) -> Result<Guard> {
    // A backend that answers without waiting would let a loop of acquires starve the renewals (K13).
    tokio::task::coop::consume_budget().await;
    if core.closed.is_cancelled() {
        return Err(core.closed_error());
    }
    let waiting = Waiting::begin(&core);
    let attempt = request.attempt.clone();
    let end = End {
        core: core.clone(),
        until,
    };
    let pass = match request.wait {
        // K6: it asks the store itself, whatever others of this process are waiting for.
        Wait::Never => None,
        Wait::UntilCancelled => Some(end.pass_gate(&request).await?),
    };
    let asked_to_wait = pass.is_some();
    // Who did not ask to wait was refused nothing: the store owes an answer.
    let why = || {
        let why = attempt.wait_error();
        why.filter(|why| asked_to_wait || why.kind() != ErrorKind::Contended)
    };
    let mut flight = InFlight::launch(core.clone(), request);
    let result = tokio::select! {
        biased;
        result = &mut flight => result,
        // Nothing but a grant beats the end, and that was looked for just now.
        error = end.reached(why) => Err(match error.kind() {
            ErrorKind::Contended => error,
            // Its answer is missing: it may be granted at this moment, and is undone then (K9).
            _ => error.with_effect(Effect::Unknown),
        }),
    };
    if let Some(pass) = pass {
        pass.leave(result.is_ok() || attempt.is_contended());
    }
    drop(waiting);
    result
}

/// When an attempt ends without a grant: its time is over, or the locker's.
struct End {
    core: Arc<Core>,
    until: BootInstant,
}

impl End {
    /// Waits for the turn of `request` in its locker.
    async fn pass_gate(&self, request: &AcquireRequest) -> Result<Pass> {
        let gate = &self.core.gate;
        match gate.enter(&request.name, request.mode, &request.attempt) {
            Entry::Passed(pass) => Ok(pass),
            Entry::Queued(turn) => tokio::select! {
                biased;
                pass = turn => pass.map_err(|_| self.core.closed_error()),
                error = self.reached(|| gate.wait_error(&request.name)) => Err(error),
            },
        }
    }

    /// Waits for the end, and says why there was no grant: what `why` knows then, or the store did not
    /// answer (K6).
    async fn reached(&self, why: impl Fn() -> Option<Error>) -> Error {
        tokio::select! {
            biased;
            () = self.core.closed.cancelled() => self.core.closed_error(),
            () = self.core.clock.sleep_until(self.until) => {
                let no_answer = "the store did not answer in time";
                why().unwrap_or_else(|| Error::new(ErrorKind::Unavailable, no_answer))
            }
        }
    }
}

/// The backend's future. Polled by the caller; when the caller is gone, the attempt is cancelled and
/// the locker's own task polls it to its end (K7).
struct InFlight {
    core: Arc<Core>,
    attempt: Attempt,
    flight: Option<Flight<Result<Guard>>>,
}

impl InFlight {
    fn launch(core: Arc<Core>, request: AcquireRequest) -> Self {
        let attempt = request.attempt.clone();
        let flight = Some(Self::fly(core.clone(), request));
        Self {
            core,
            attempt,
            flight,
        }
    }

    fn fly(core: Arc<Core>, request: AcquireRequest) -> Flight<Result<Guard>> {
        let home = core.clone();
        let airborne = core.flights.launch();
        let flight = async move {
            let _airborne = airborne;
            match contained(core.backend.acquire(&request)).await {
                // A guard, as nothing else releases it when its caller goes away at this moment.
                Ok(lease) => Hold::grant(&core, lease).map(Guard::new),
                Err(error) => Err(match request.attempt.state().phase() {
                    Phase::Lost(cause) => Error::lost(cause),
                    _ => error,
                }),
            }
        };
        Box::pin(async move { home.at_home(flight).await })
    }
}

impl Future for InFlight {
    type Output = Result<Guard>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(flight) = self.flight.as_mut() else {
            return Poll::Pending;
        };
        let result = std::task::ready!(flight.as_mut().poll(cx));
        self.flight = None;
        Poll::Ready(result)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(flight) = self.flight.take() {
            self.attempt.cancel();
            self.core.reaper.finish(Box::pin(async move {
                // A grant that comes after the cancellation is released by `Hold::grant`.
                if let Err(error) = flight.await {
                    tracing::trace!(%error, "a cancelled attempt has ended");
                }
            }));
        }
    }
}

/// Counts an attempt as waiting for as long as it lives.
struct Waiting {
    core: Arc<Core>,
    since: BootInstant,
}

impl Waiting {
    fn begin(core: &Arc<Core>) -> Self {
        core.meters.waiting();
        Self {
            core: core.clone(),
            since: core.clock.now(),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.core
            .meters
            .waited(self.core.clock.now().since(self.since));
    }
}
