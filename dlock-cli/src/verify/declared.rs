//! The declared exceptions that the faults of a client's side can show.

use std::collections::BTreeMap;

use dlock_verify::{
    chaos::{Exception, Judgement},
    verdict::{Finding, Severity},
};

/// The declared exceptions that were seen: a warning for each id.
pub(crate) fn seen(judgement: &Judgement, exceptions: &[Exception]) -> Vec<Finding> {
    let mut seen = BTreeMap::<&str, Vec<(&Exception, u64)>>::new();
    for exception in exceptions {
        if let Some(times) = judgement.declared.get(&exception.row()) {
            seen.entry(&exception.id)
                .or_default()
                .push((exception, *times));
        }
    }
    let warnings = seen.into_iter().map(|(id, rows)| warning(id, &rows));
    warnings.collect()
}

fn warning(id: &str, rows: &[(&Exception, u64)]) -> Finding {
    let mut finding = Finding::new(id, Severity::Warning, "seen under faults");
    let times = rows
        .iter()
        .map(|(row, times)| format!("{times} times by {}", row.fault));
    finding.found = times.collect::<Vec<_>>().join(", ");
    let clauses = rows.iter().filter_map(|(row, _)| row.clause.parse().ok());
    finding.clauses = clauses.collect();
    finding.clauses.dedup();
    finding.exception = Some(id.to_owned());
    "a lock was granted or kept as this declared exception allows"
        .clone_into(&mut finding.consequence);
    let anchor = rows.first().map_or("", |(row, _)| row.anchor.as_str());
    finding.advice = format!("have the resource compare tokens, as {anchor} says");
    finding
}
