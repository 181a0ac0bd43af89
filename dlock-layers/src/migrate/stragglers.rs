//! Holders in the old store that are not on `migrate:`, seen by those that wait for them (K1).
//!
//! Before the switch they are welcome. At the switch none may be left, so each is named and counted.

use std::{convert::Infallible, sync::Arc, time::Duration};

use dlock_core::{
    Holder,
    backend::{AcquireRequest, DistributedLock},
};
use tokio_util::task::TaskTracker;

use super::{switch::Switch, tag::untagged};
use crate::{reports::Reports, schemes::MIGRATE};

/// A holder is inspected after it has been waited for so long.
const INSPECT_AFTER: Duration = Duration::from_secs(1);

/// The pause after that: an inspection may cost the store as much as a grant.
const INSPECT_EVERY: Duration = Duration::from_secs(10);

/// The metric, a counter.
const METRIC: &str = "dlock_stragglers_total";

/// The metric exists from the start.
pub(super) fn register_metric() {
    let help = "Holders in the old store alone that were waited for.";
    metrics::describe_counter!(METRIC, metrics::Unit::Count, help);
    metrics::counter!(METRIC, "backend" => MIGRATE).increment(0);
}

/// Reports the stragglers that `request` waits for in `old`, by `inspections` of them. Never ends.
pub(super) async fn report(
    old: &Arc<dyn DistributedLock>,
    inspections: &TaskTracker,
    request: &AcquireRequest,
    switch: &Switch,
    reports: &Reports,
) -> Infallible {
    let mut last = None;
    let mut pause = INSPECT_AFTER;
    loop {
        tokio::time::sleep(pause).await;
        pause = INSPECT_EVERY;
        if switch.is_known() || !reports.is_contended() {
            continue;
        }
        // To its end, also if the wait ends: it may leave something in the store until then.
        let (store, name) = (old.clone(), request.name.clone());
        let inspecting = inspections.spawn(async move { store.inspect(&name).await });
        let Ok(Ok(Some(holder))) = inspecting.await else {
            continue;
        };
        let (holder, is_on_migrate) = untagged(holder);
        if is_on_migrate {
            continue;
        }
        let warning = warning(&holder);
        if last.as_ref() != Some(&warning) {
            tracing::warn!("{:?}: {warning}", request.name);
            metrics::counter!(METRIC, "backend" => MIGRATE).increment(1);
            last = Some(warning.clone());
        }
        if reports.is_contended() {
            request.attempt.report_contended_with(Some(warning));
        }
    }
}

/// The holder of a lock in the old store, with a warning if it is a straggler.
pub(super) fn warned(holder: Holder) -> Holder {
    let (mut holder, is_on_migrate) = untagged(holder);
    if !is_on_migrate {
        let warning = warning(&holder);
        holder.warning.get_or_insert(warning);
    }
    holder
}

/// The process of a holder in the old store, as `PID@HOST`; `None` for one that is on `migrate:`.
///
/// ```
/// use dlock_core::Holder;
/// use dlock_layers::migrate::straggler;
///
/// let mut holder = Holder::this_process();
/// assert!(straggler(holder.clone()).is_some_and(|process| process.contains('@')));
/// holder.note = Some("[migrate] checkout 77".to_owned());
/// assert_eq!(straggler(holder), None);
/// ```
#[must_use]
pub fn straggler(holder: Holder) -> Option<String> {
    let (holder, is_on_migrate) = untagged(holder);
    (!is_on_migrate).then(|| process(&holder))
}

fn warning(holder: &Holder) -> String {
    let comma = if holder.host.is_none() { "," } else { "" };
    format!(
        "{}{comma} holds the lock in the old store alone; change the URL of that program to migrate: before the switch",
        process(holder)
    )
}

/// The process of a holder, as `PID@HOST`.
fn process(holder: &Holder) -> String {
    match (holder.pid, &holder.host) {
        (Some(pid), Some(host)) => format!("{pid}@{host}"),
        (_, Some(host)) => format!("a process on {host}"),
        _ => "a client of another kind, or one that does not answer".to_owned(),
    }
}
