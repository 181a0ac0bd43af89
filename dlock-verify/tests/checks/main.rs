//! The checks beyond linearizability: each good history passes, each bad one is flagged for what is wrong.

mod contention;
mod control;
mod effect;
mod liveness;
mod loss;
mod residue;
mod run;

use dlock_verify::checker::{Facts, check};

use crate::run::{MS, Run, S, bounds};

#[test]
fn the_report_has_a_line_for_each_check() {
    let facts: Facts = Run::default().hold(0, 1).0.iter().collect();
    let report = check(&facts, &bounds());
    let text = report.to_string();
    assert!(
        text.starts_with("C0 history: holds in 4 cases\nC1 exclusion: holds in 1 cases\n"),
        "{text}"
    );
    assert_eq!(text.lines().count(), report.verdicts.len());
    assert_eq!(report.grants, 1);
    assert_eq!(facts.ends, 10 * MS);
    assert!(facts.ends < S);
}
