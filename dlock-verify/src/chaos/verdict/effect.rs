//! The effects of each fault of a run, for a report.

use std::collections::BTreeMap;

use crate::{chaos::run::RunReport, history::EventKind};

/// The effects of all strikes of one fault: while it was on, and for the window of the judgement after that.
///
/// What happens while two faults are on counts for both of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Effect {
    /// How often it struck.
    pub strikes: u64,
    /// How often it bit: [`Bites::bites`](crate::chaos::Bites::bites).
    pub bites: u64,
    /// Grants of all clients.
    pub grants: u64,
    /// Broken promises that no exception declares.
    pub broken: u64,
    /// Broken promises that an exception declares.
    pub declared: u64,
}

/// Strikes, bites and grants of each fault that struck. `window` is in nanoseconds.
pub(super) fn effects(report: &RunReport, window: u64) -> BTreeMap<String, Effect> {
    let mut effects = BTreeMap::<String, Effect>::new();
    let mut spans = BTreeMap::<&str, Vec<(u64, u64)>>::new();
    for struck in &report.struck {
        let span = (struck.begin, struck.end.saturating_add(window));
        spans.entry(&struck.fault).or_default().push(span);
        effects.entry(struck.fault.clone()).or_default().strikes += 1;
    }
    let granted = report.events.iter().filter_map(|event| match event.kind {
        EventKind::Granted { .. } => Some(event.at),
        _ => None,
    });
    let mut granted = Vec::from_iter(granted);
    granted.sort_unstable();
    for (fault, effect) in &mut effects {
        effect.bites = report.bites.get(fault).map_or(0, |bites| bites.bites);
        if let Some(spans) = spans.remove(fault.as_str()) {
            effect.grants = within(&granted, spans);
        }
    }
    effects
}

/// How many of `times`, which are sorted, are in one of `spans`. Both ends of a span belong to it.
fn within(times: &[u64], mut spans: Vec<(u64, u64)>) -> u64 {
    spans.sort_unstable();
    let (mut count, mut counted) = (0, 0);
    for (begin, end) in spans {
        let first = times.partition_point(|time| *time < begin).max(counted);
        let after = times.partition_point(|time| *time <= end).max(first);
        count += (after - first) as u64;
        counted = after;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_two_spans_counts_once() {
        let times = [1, 2, 3, 4, 5, 6, 7];
        assert_eq!(within(&times, vec![(2, 3)]), 2);
        assert_eq!(within(&times, vec![(3, 5), (1, 4)]), 5);
        assert_eq!(within(&times, vec![(1, 7), (3, 4), (7, 9)]), 7);
        assert_eq!(within(&times, vec![(8, 9)]), 0);
        assert_eq!(within(&[], vec![(0, 9)]), 0);
    }
}
