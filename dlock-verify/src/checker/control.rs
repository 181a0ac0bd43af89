//! The check of the control register (C4).

use std::collections::HashMap;

use super::{bounds::Bounds, facts::Facts, verdict::Verdict};
use crate::history::Name;

/// Whether the control register, which compares no tokens, has lost updates.
///
/// Where holds end by time, a holder that is stopped before its write writes too late. A run in which that never
/// happened proves nothing about fencing: it is unknown, and not in the lock's favour.
#[must_use]
pub fn control(facts: &Facts, bounds: &Bounds) -> Verdict {
    let cases = facts.control.len();
    if !bounds.ends_by_time {
        return Verdict::Holds { cases: 0 };
    }
    if cases == 0 {
        return Verdict::unknown(cases, "the run has no control register");
    }
    match lost_updates(facts) {
        0 => Verdict::unknown(
            cases,
            "the control register lost no update, so the run proves nothing about fencing",
        ),
        _ => Verdict::Holds { cases },
    }
}

/// The updates that the control register has lost: increments whose value was there already.
#[must_use]
pub fn lost_updates(facts: &Facts) -> usize {
    let mut values: HashMap<&Name, u64> = HashMap::new();
    let mut lost = 0;
    for (name, wrote) in &facts.control {
        let before = values.insert(name, *wrote).unwrap_or(0);
        lost += usize::from(*wrote != before + 1);
    }
    lost
}
