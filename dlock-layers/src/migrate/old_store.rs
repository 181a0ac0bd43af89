//! The part in the old store: waited for while it counts, passed over when it is silent and does not count any more.

use std::{convert::Infallible, sync::Arc, time::Duration};

use dlock_core::{
    BootInstant, Clock, Result,
    backend::{AcquireRequest, Lease},
    toolkit::Lock,
};
use tokio_util::task::TaskTracker;

use super::{
    request::{ANSWER_MAX, Acquiring, WATCH_AFTER, nested},
    stores::Store,
    stragglers,
    switch::Switch,
    watch::{Sides, Watch},
};
use crate::{part::Part, reports::Reports};

/// After it was passed over, it is not tried for so long.
const SKIPPED_FOR: Duration = Duration::from_secs(5);

/// How long the inspections of stragglers may go on at the end. One takes 2 s where a holder of MySQL does not answer.
const INSPECTION_MAX: Duration = Duration::from_secs(3);

/// The old store.
pub(super) struct OldStore {
    pub(super) store: Store,
    clock: Clock,
    /// Until when it is not tried, because it was silent.
    skipped_until: Lock<Option<BootInstant>>,
    /// The inspections of stragglers that are going on.
    inspections: TaskTracker,
}

impl OldStore {
    pub(super) fn new(store: Store) -> Self {
        let clock = store.backend.clock();
        Self {
            store,
            clock,
            skipped_until: Lock::default(),
            inspections: TaskTracker::new(),
        }
    }

    /// Closes it after the inspections that are going on: they may leave something in the store until they end (K12).
    pub(super) async fn close(&self) -> Result<()> {
        self.inspections.close();
        if tokio::time::timeout(INSPECTION_MAX, self.inspections.wait())
            .await
            .is_err()
        {
            tracing::debug!("an inspection of the old store has not ended");
        }
        self.store.backend.close().await
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
        let nested = Arc::new(nested(request, watch, Sides::OLD, &reports, is_again));
        let (backend, inside) = (self.store.backend.clone(), nested.clone());
        let mut acquiring: Acquiring<'static> =
            Box::pin(async move { backend.acquire(&inside).await });
        let answer = match tokio::time::timeout(WATCH_AFTER, &mut acquiring).await {
            Ok(answer) => Some(answer),
            Err(_) => {
                // Boxed, as it is rare: the futures of acquires stay small.
                let watched = self.watched(&mut acquiring, request, switch, &reports);
                Box::pin(watched).await
            }
        };
        match answer {
            Some(Ok(lease)) => {
                let backend = self.store.backend.clone();
                Ok(Some(Arc::new(Part::new(backend, nested, lease))))
            }
            Some(Err(error)) => {
                let is_refusal = !error.is_contended() && !request.attempt.is_cancelled();
                if is_refusal && Box::pin(self.may_skip(request, switch)).await {
                    tracing::warn!(%error, "the old store is passed over");
                    return Ok(None);
                }
                Err(error.in_context("acquire", self.store.name(), Some(&request.name)))
            }
            None => {
                tracing::warn!("the old store does not answer and is passed over");
                nested.cancel_nested();
                self.abandon(acquiring, nested);
                Ok(None)
            }
        }
    }

    /// The answer of an acquire; `None` if the old store is silent and does not count any more.
    async fn watched(
        &self,
        acquiring: &mut Acquiring<'static>,
        request: &AcquireRequest,
        switch: &Switch,
        reports: &Reports,
    ) -> Option<Result<Lease>> {
        tokio::select! {
            biased;
            answer = acquiring => Some(answer),
            // Polled beside the acquire: a grant must not wait for the new store.
            () = self.until_skippable(request, switch, reports) => None,
            never = self.report_stragglers(request, switch, reports) => match never {},
        }
    }

    async fn report_stragglers(
        &self,
        request: &AcquireRequest,
        switch: &Switch,
        reports: &Reports,
    ) -> Infallible {
        let (store, inspections) = (&self.store.backend, &self.inspections);
        stragglers::report(store, inspections, request, switch, reports).await
    }

    /// Ends as soon as the old store is silent and does not count any more: then it may be passed over.
    async fn until_skippable(&self, request: &AcquireRequest, switch: &Switch, reports: &Reports) {
        loop {
            tokio::select! {
                () = reports.unavailable() => {}
                () = tokio::time::sleep(ANSWER_MAX) => {}
            }
            // If it answers, its locks are respected for as long as it does.
            if !reports.is_contended() && self.may_skip(request, switch).await {
                return;
            }
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
    fn abandon(&self, acquiring: Acquiring<'static>, nested: Arc<AcquireRequest>) {
        let backend = self.store.backend.clone();
        tokio::spawn(async move {
            if let Ok(lease) = acquiring.await {
                let part = Part::new(backend, nested, lease);
                part.release_until_it_ends().await;
            }
        });
    }
}
