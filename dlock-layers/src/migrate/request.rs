//! The requests to the two stores, and where their reports go.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use dlock_core::{
    Result,
    backend::{AcquireRequest, Lease, WaitReport},
};

use super::{
    tag::tagged,
    watch::{Sides, Watch},
};
use crate::reports::Reports;

/// An old store that does not count any more is waited for so long.
pub(super) const ANSWER_MAX: Duration = Duration::from_millis(500);

/// An acquire in one store that takes longer is watched. Most do not, and what watches has timers, which cost.
pub(super) const WATCH_AFTER: Duration = Duration::from_millis(10);

/// An acquire in one store.
pub(super) type Acquiring<'a> = Pin<Box<dyn Future<Output = Result<Lease>> + Send + 'a>>;

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
