//! The reports of a store during the wait for its lock (K6).

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dlock_core::backend::{AcquireRequest, WaitReport};
use tokio::sync::Notify;

use super::{
    tag::tagged,
    watch::{Sides, Watch},
};

/// The reports of a store in one wait.
#[derive(Default)]
pub(super) struct Reports {
    is_contended: AtomicBool,
    is_unavailable: AtomicBool,
    changed: Notify,
}

impl Reports {
    /// Whether its last report was that the lock is taken: it answers.
    pub(super) fn is_contended(&self) -> bool {
        self.is_contended.load(Ordering::Acquire)
    }

    /// Ends with the first report that the store cannot be reached, also an earlier one; once.
    pub(super) async fn unavailable(&self) {
        self.changed.notified().await;
    }

    fn take(&self, report: WaitReport<'_>) {
        let is_contended = matches!(report, WaitReport::Contended(_));
        self.is_contended.store(is_contended, Ordering::Release);
        if !is_contended && !self.is_unavailable.swap(true, Ordering::AcqRel) {
            // A permit is kept for a wait that begins later.
            self.changed.notify_one();
        }
    }
}

/// The request to the store of `side`, whose losses go to `watch` and whose reports to `reports`, and to the outer
/// attempt.
pub(super) fn nested(
    request: &AcquireRequest,
    watch: &Arc<Watch>,
    side: Sides,
    reports: &Arc<Reports>,
    is_again: bool,
) -> AcquireRequest {
    let (watch, reports, outer) = (watch.clone(), reports.clone(), request.attempt.clone());
    let on_lost = move |cause| watch.lose(side, cause);
    let on_wait = move |report: WaitReport<'_>| {
        match report {
            WaitReport::Contended(warning) => {
                outer.report_contended_with(warning.map(str::to_owned));
            }
            WaitReport::Unavailable(why) => outer.report_unavailable(why),
            _ => {}
        }
        reports.take(report);
    };
    let mut nested = if is_again {
        request.nested_again(on_lost, on_wait)
    } else {
        request.nested_waiting(on_lost, on_wait)
    };
    if side == Sides::OLD {
        nested.note = Some(tagged(request.note.as_deref()));
    }
    nested
}
