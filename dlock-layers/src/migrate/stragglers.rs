//! Holders in the old store that are not on `migrate:`, seen by those that wait for them (K1).
//!
//! Before the switch they are welcome. At the switch none may be left, so each is named and counted.

use std::{convert::Infallible, sync::Arc, time::Duration};

use dlock_core::{
    Holder,
    backend::{AcquireRequest, DistributedLock},
};

use super::{reports::Reports, switch::Switch};

/// A holder is looked at after it has been waited for so long, and as often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The begin of the notes in the old store of programs on `migrate:`.
const TAG: &str = "[migrate]";

/// The metric, a counter.
const METRIC: &str = "dlock_stragglers_total";

/// The note of `request` in the old store. One that is too long with the tag is cut at its end.
pub(super) fn tagged(note: Option<&str>) -> Arc<str> {
    let mut text = match note {
        Some(note) => format!("{TAG} {note}"),
        None => TAG.to_owned(),
    };
    text.truncate(text.floor_char_boundary(AcquireRequest::NOTE_BYTES_MAX));
    text.into()
}

/// The holder without the tag; whether it had one.
pub(super) fn untagged(mut holder: Holder) -> (Holder, bool) {
    let rest = holder
        .note
        .as_deref()
        .and_then(|note| note.strip_prefix(TAG));
    let Some(rest) = rest.map(|rest| rest.trim_start().to_owned()) else {
        return (holder, false);
    };
    holder.note = (!rest.is_empty()).then_some(rest);
    (holder, true)
}

/// Reports the stragglers that `request` waits for in `old`. Never ends.
pub(super) async fn report(
    old: &dyn DistributedLock,
    request: &AcquireRequest,
    switch: &Switch,
    reports: &Reports,
) -> Infallible {
    let mut last = None;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if switch.is_known() || !reports.is_contended() {
            continue;
        }
        let Ok(Some(holder)) = old.inspect(&request.name).await else {
            continue;
        };
        let (holder, is_on_migrate) = untagged(holder);
        if is_on_migrate {
            continue;
        }
        let warning = format!("{} holds it in the old store alone", process(&holder));
        if last.as_ref() != Some(&warning) {
            tracing::warn!(name = %request.name, "{warning}");
            metrics::describe_counter!(
                METRIC,
                "Holders in the old store alone that were waited for."
            );
            metrics::counter!(METRIC, "backend" => "migrate").increment(1);
            last = Some(warning.clone());
        }
        request.attempt.report_contended_with(Some(warning));
    }
}

/// The process of a holder, as `PID@HOST`.
fn process(holder: &Holder) -> String {
    match (holder.pid, &holder.host) {
        (Some(pid), Some(host)) => format!("{pid}@{host}"),
        (_, Some(host)) => format!("a process on {host}"),
        _ => "a client of another kind".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(note: Option<&str>) -> Holder {
        let mut holder = Holder::foreign();
        holder.note = note.map(str::to_owned);
        holder
    }

    #[test]
    fn a_note_is_the_same_without_its_tag() {
        for note in [None, Some("checkout 77"), Some("[b]")] {
            let (holder, is_tagged) = untagged(with(Some(&tagged(note))));
            assert_eq!((holder.note.as_deref(), is_tagged), (note, true));
            assert_eq!(untagged(with(note)), (with(note), false));
        }
    }

    #[test]
    fn a_long_note_is_cut_between_characters() {
        let long = "ä".repeat(AcquireRequest::NOTE_BYTES_MAX / 2);
        let cut = tagged(Some(&long));
        assert!(cut.len() <= AcquireRequest::NOTE_BYTES_MAX && cut.ends_with('ä'));
    }
}
