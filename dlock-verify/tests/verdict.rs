//! The format `dlock-verify/1`, and the outcome that its documents have.

#![expect(clippy::expect_used, reason = "a test fails by it")]

use dlock_verify::verdict::{
    Clause, ClauseVerdict, Document, Finding, Outcome, Severity, StoreVerdict, Verdict,
};

const SAMPLE: &str = include_str!("data/verify-sample.json");

fn sample() -> Document {
    Document::from_json(SAMPLE).expect("the sample is of this version")
}

#[test]
fn a_document_survives_a_round_trip() {
    let read = sample();
    let written = serde_json::to_string(&read).expect("JSON");
    assert_eq!(Document::from_json(&written).expect("a document"), read);
}

#[test]
fn another_version_is_refused_with_both_versions() {
    let other = SAMPLE.replace("dlock-verify/1", "dlock-verify/2");
    let error = Document::from_json(&other).expect_err("another version");
    let text = r#"the format is "dlock-verify/2" (this dlock reads "dlock-verify/1")"#;
    assert_eq!(error.to_string(), text);
    assert!(Document::from_json("{}").is_err());
}

#[test]
fn each_store_has_all_clauses_in_order() {
    for store in sample().stores {
        let ids: Vec<_> = store.clauses.iter().map(|clause| clause.id).collect();
        assert_eq!(ids, Clause::ALL);
    }
}

#[test]
fn the_gravest_part_decides() {
    let document = sample();
    let outcomes: Vec<_> = document.stores.iter().map(Outcome::of).collect();
    // A danger, a clause that fails, a store that cannot be reached.
    assert_eq!(outcomes, [Outcome::Fails, Outcome::Fails, Outcome::Unknown]);
    assert_eq!(document.outcome(), Outcome::Fails);
}

#[test]
fn the_strikes_of_a_store_are_those_of_its_faults() {
    let document = sample();
    let strikes: Vec<_> = document.stores.iter().map(StoreVerdict::strikes).collect();
    assert_eq!(strikes, [96, 88, 0]);
    let faults = document.stores.iter().flat_map(|store| &store.faults);
    let mut ids = faults.map(|fault| fault.id.as_str());
    assert!(ids.any(|id| id == "net-cut"));
}

fn holding() -> StoreVerdict {
    let mut store = StoreVerdict::new("redis://db-1");
    store.clauses = Clause::ALL
        .map(|id| {
            let mut clause = ClauseVerdict::unknown(id, "");
            clause.verdict = Verdict::Holds;
            clause
        })
        .to_vec();
    store
}

#[test]
fn a_warning_changes_nothing_and_a_danger_fails_until_it_is_accepted() {
    let outcome = |severity, accepted| {
        let mut store = holding();
        let mut finding = Finding::new("redis.eviction", severity, "maxmemory-policy");
        finding.accepted = accepted;
        store.findings.push(finding);
        Outcome::of(&store)
    };
    assert_eq!(outcome(Severity::Warning, false), Outcome::Holds);
    assert_eq!(outcome(Severity::Danger, false), Outcome::Fails);
    assert_eq!(outcome(Severity::Danger, true), Outcome::Holds);
    assert_eq!(outcome(Severity::Unknown, false), Outcome::Unknown);
    assert_eq!(outcome(Severity::Unknown, true), Outcome::Holds);
}

#[test]
fn an_unknown_clause_can_be_accepted_and_a_failed_one_cannot() {
    let outcome = |verdict| {
        let mut store = holding();
        store.clauses[12].verdict = verdict;
        store.clauses[12].accepted = true;
        Outcome::of(&store)
    };
    assert_eq!(outcome(Verdict::Unknown), Outcome::Holds);
    assert_eq!(outcome(Verdict::Fails), Outcome::Fails);
}

#[test]
fn a_clause_that_was_not_tried_does_not_count_unless_it_is_exclusion() {
    let outcome = |index: usize| {
        let mut store = holding();
        store.clauses[index].verdict = Verdict::NotTried;
        Outcome::of(&store)
    };
    assert_eq!(outcome(12), Outcome::Holds);
    assert_eq!(outcome(0), Outcome::Unknown);
}

#[test]
fn an_entry_that_is_left_fails() {
    let mut store = holding();
    store.residue.unknown = Some("the store did not answer".to_owned());
    assert_eq!(Outcome::of(&store), Outcome::Unknown);
    store.residue.left.push("dlock:a".to_owned());
    assert_eq!(Outcome::of(&store), Outcome::Fails);
}
