//! The part in the old store: waited for while it counts, passed over when it is silent and does not count any more.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    BootInstant, Clock, Error, Result,
    backend::{AcquireRequest, Lease, WaitReport},
    toolkit::Lock,
};
use tokio::sync::Notify;

use super::{
    stores::Store,
    switch::Switch,
    watch::{Sides, Watch},
};
use crate::part::Part;

/// An old store that does not count any more is waited for so long.
pub(super) const ANSWER_MAX: Duration = Duration::from_millis(500);

/// After it was passed over, it is not tried for so long.
const SKIPPED_FOR: Duration = Duration::from_secs(5);

type Acquiring = Pin<Box<dyn Future<Output = Result<Lease>> + Send>>;

/// The old store.
pub(super) struct OldStore {
    pub(super) store: Store,
    clock: Clock,
    /// Until when it is not tried, because it was silent.
    skipped_until: Lock<Option<BootInstant>>,
}

/// The reports of the old store during the wait.
#[derive(Default)]
struct Reports {
    is_contended: AtomicBool,
    is_unavailable: AtomicBool,
    changed: Notify,
}

impl OldStore {
    pub(super) fn new(store: Store) -> Self {
        let clock = store.backend.clock();
        Self {
            store,
            clock,
            skipped_until: Lock::default(),
        }
    }

    /// Whether it was silent a moment ago. That matters only once it does not count any more.
    pub(super) fn is_skipped(&self) -> bool {
        let until = *self.skipped_until.lock();
        until.is_some_and(|until| self.clock.now() < until)
    }

    /// Takes the lock in the old store, or waits for it. `None` if it is silent and does not count any more.
    pub(super) async fn acquire(
        &self,
        request: &AcquireRequest,
        watch: &Arc<Watch>,
        switch: &Switch,
        is_again: bool,
    ) -> Result<Option<Arc<Part>>> {
        if switch.is_known() && self.is_skipped() {
            return Ok(None);
        }
        let reports = Arc::new(Reports::default());
        let nested = Arc::new(self.nested(request, watch, &reports, is_again));
        let (backend, inside) = (self.store.backend.clone(), nested.clone());
        let mut acquiring: Acquiring = Box::pin(async move { backend.acquire(&inside).await });
        loop {
            let answer = tokio::select! {
                biased;
                answer = &mut acquiring => Some(answer),
                () = reports.changed.notified() => None,
                () = tokio::time::sleep(ANSWER_MAX) => None,
            };
            match answer {
                Some(Ok(lease)) => {
                    let backend = self.store.backend.clone();
                    return Ok(Some(Arc::new(Part::new(backend, nested, lease))));
                }
                Some(Err(error))
                    if may_be_silence(&error, request) && self.may_skip(request, switch).await =>
                {
                    tracing::warn!(%error, "the old store is passed over");
                    return Ok(None);
                }
                Some(Err(error)) => {
                    return Err(error.in_context(
                        "acquire",
                        self.store.name(),
                        Some(&request.name),
                    ));
                }
                // It answers, so its locks are respected for as long as it does.
                None if reports.is_contended.load(Ordering::Acquire) => {}
                None if self.may_skip(request, switch).await => {
                    tracing::warn!("the old store does not answer and is passed over");
                    nested.cancel_nested();
                    self.abandon(acquiring, nested);
                    return Ok(None);
                }
                None => {}
            }
        }
    }

    fn nested(
        &self,
        request: &AcquireRequest,
        watch: &Arc<Watch>,
        reports: &Arc<Reports>,
        is_again: bool,
    ) -> AcquireRequest {
        let (watch, reports, outer) = (watch.clone(), reports.clone(), request.attempt.clone());
        let on_lost = move |cause| watch.lose(Sides::OLD, cause);
        let on_wait = move |report: WaitReport<'_>| {
            forward(&outer, report);
            let is_contended = matches!(report, WaitReport::Contended(_));
            reports.is_contended.store(is_contended, Ordering::Release);
            // A permit is kept, so a report between two waits is seen.
            if !is_contended && !reports.is_unavailable.swap(true, Ordering::AcqRel) {
                reports.changed.notify_one();
            }
        };
        if is_again {
            request.nested_again(on_lost, on_wait)
        } else {
            request.nested_waiting(on_lost, on_wait)
        }
    }

    /// Whether the old store does not count any more, so that it may be passed over. That the new store counts stays
    /// true, so it may be read before any lock is held.
    async fn may_skip(&self, request: &AcquireRequest, switch: &Switch) -> bool {
        let is_done = matches!(switch.is_done_for(&request.attempt).await, Ok(true));
        if is_done {
            *self.skipped_until.lock() = Some(self.clock.now().after(SKIPPED_FOR));
        }
        is_done
    }

    /// Polls a cancelled acquire to its end, and releases what it was granted all the same.
    fn abandon(&self, acquiring: Acquiring, nested: Arc<AcquireRequest>) {
        let backend = self.store.backend.clone();
        tokio::spawn(async move {
            if let Ok(lease) = acquiring.await {
                let part = Part::new(backend, nested, lease);
                part.release_until_it_ends().await;
            }
        });
    }
}

/// Passes on what a store reports during the wait for it (K6).
pub(super) fn forward(outer: &dlock_core::backend::Attempt, report: WaitReport<'_>) {
    match report {
        WaitReport::Contended(warning) => outer.report_contended_with(warning.map(str::to_owned)),
        WaitReport::Unavailable(why) => outer.report_unavailable(why),
        _ => {}
    }
}

fn may_be_silence(error: &Error, request: &AcquireRequest) -> bool {
    error.is_retryable() && !error.is_contended() && !request.attempt.is_cancelled()
}
