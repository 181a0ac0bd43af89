//! A store of another project: nothing is known about it.

use super::{
    finding::{Check, Severity},
    report::Report,
};

const SCHEME: Check = Check {
    id: "store.scheme",
    setting: "the scheme of the URL",
    clause: "K12",
    effect: "its settings are not read, and entries of locks are not found",
    advice: "read the documentation of the store",
    exception: None,
    readme: "dlock-raw/README.md#stores-of-other-projects",
};

/// All checks.
pub(super) const ALL: &[Check] = &[SCHEME];

/// The one finding about a store with this `scheme`.
pub(super) fn probe(scheme: &str) -> Report {
    let mut report = Report::default();
    let finding = SCHEME.finds(Severity::Note, scheme, "a scheme of dlock");
    report.note(&SCHEME, Some(finding));
    report
}
