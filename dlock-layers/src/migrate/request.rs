//! The requests to the two stores, and where their reports go.

use std::sync::Arc;

use dlock_core::backend::{AcquireRequest, WaitReport};

use super::watch::{Sides, Watch};
use crate::reports::Reports;

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
    if is_again {
        request.nested_again(on_lost, on_wait)
    } else {
        request.nested_waiting(on_lost, on_wait)
    }
}
