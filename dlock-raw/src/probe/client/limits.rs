//! The limits of this process.

use rustix::process::{Resource, getrlimit};

use super::checks;
use crate::probe::{finding::Severity, report::Report};

/// Descriptors that a program with a few stores needs.
const DESCRIPTORS_MIN: u64 = 1_024;

pub(super) fn judge_descriptors(report: &mut Report) {
    // No limit is enough.
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let finding = (limit < DESCRIPTORS_MIN).then(|| {
        let wanted = format!("{DESCRIPTORS_MIN} or more");
        checks::DESCRIPTORS.finds(Severity::Warning, limit, wanted)
    });
    report.note(&checks::DESCRIPTORS, finding);
}
