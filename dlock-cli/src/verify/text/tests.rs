//! The lines of the verdicts.

use dlock_verify::verdict::ServerSummary;

use super::*;

/// All clauses hold, and one setting cannot be read.
fn store() -> StoreVerdict {
    console::set_colors_enabled(false);
    let mut store = StoreVerdict::new("redis://db-1");
    store.clauses = Clause::ALL
        .map(|clause| {
            let mut verdict = ClauseVerdict::unknown(clause, "1 case");
            verdict.verdict = Verdict::Holds;
            verdict
        })
        .to_vec();
    let unread = Finding::new("redis.restart", Severity::Unknown, "appendonly");
    store.findings.push(unread);
    store
}

fn shown(store: &StoreVerdict, width: usize) -> Vec<String> {
    let lines = conclusion(store);
    lines.iter().flat_map(|line| line.wrapped(width)).collect()
}

#[test]
fn an_id_to_accept_is_named_where_that_helps() {
    let mut store = store();
    let lines = [
        "NOT KNOWN: 1 unknown",
        "  unknown: redis.restart",
        "  live with it: --accept=redis.restart",
    ];
    assert_eq!(shown(&store, 80), lines);
    // No id accepts this.
    store.residue.unknown = Some("no answer".to_owned());
    let lines = [
        "NOT KNOWN: 2 unknown",
        "  unknown: redis.restart, the entries that are left",
    ];
    assert_eq!(shown(&store, 80), lines);
}

#[test]
fn settings_that_are_unread_count_where_no_lock_was_tried() {
    let mut store = store();
    store.error = Some("the server is read-only".to_owned());
    crate::verify::clauses::untried(&mut store, "dlock cannot use the store");
    let lines = [
        "NOT KNOWN: 2 unknown",
        "  unknown: K1 to K13, redis.restart",
    ];
    assert_eq!(shown(&store, 80), lines);
}

#[test]
fn exclusion_that_was_not_tried_is_unknown() {
    let mut store = store();
    store.findings.clear();
    for clause in &mut store.clauses {
        clause.verdict = Verdict::NotTried;
    }
    let lines = [
        "NOT KNOWN: 1 unknown, 12 not tried",
        "  unknown: K1",
        "  live with it: --accept=K1",
    ];
    assert_eq!(shown(&store, 80), lines);
}

#[test]
fn an_id_stays_beside_its_flag_where_the_line_ends() {
    let mut store = store();
    for id in ["redis.latency", "redis.idle-timeout"] {
        let unread = Finding::new(id, Severity::Unknown, id);
        store.findings.push(unread);
    }
    let lines = [
        "NOT KNOWN: 3 unknown",
        "  unknown: redis.restart,",
        "    redis.latency, redis.idle-timeout",
        "  live with it: --accept=redis.restart",
        "    --accept=redis.latency",
        "    --accept=redis.idle-timeout",
    ];
    assert_eq!(shown(&store, 40), lines);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut store = store();
    let url = "redis://db-1.example.net:6379?restart_guard=0s".to_owned();
    store.url.clone_from(&url);
    store.server = Some(ServerSummary::new("Redis", "7.0.15", "primary, 2 replicas"));
    store.not_here = vec!["redis.eviction".to_owned(); 20];
    store.clauses[0].evidence =
        "0 of 12 345 grants held twice (fewer than 1 in 4115, 95 %)".to_owned();
    store.clauses[1].witness = vec!["a case failed for a reason of some words ".repeat(4)];
    let document = Document::new(7, vec![store]);
    for columns in [60, 80, 96, 200] {
        let text = show_in(&document, columns);
        for line in text.lines() {
            let width = line.chars().count();
            assert!(
                width <= columns.min(WIDTH_MAX),
                "{width} of {columns}: {line}"
            );
        }
        assert!(text.starts_with(&url), "{text}");
        assert!(text.contains("primary, 2 replicas"), "{text}");
    }
    // A text without a space stays whole.
    assert!(show_in(&document, 1).contains(&url));
}
