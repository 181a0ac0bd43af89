//! The declared exceptions that the faults of a client's side can show.

use dlock_verify::{
    chaos::{Exception, Judgement},
    verdict::{Clause, Finding, Severity},
};

/// The faults of connections by which a server ends a session before its holder knows.
const SESSION_ENDING: [&str; 3] = ["net-cut", "net-swallow-rst", "net-swallow-fin"];

/// The end of a session frees its row lock at once, in MySQL and MariaDB.
const SESSION_ENDED: &str = "mysql.session-ended";

/// The exceptions of `backend`.
pub(crate) fn exceptions(backend: &str) -> Vec<Exception> {
    if backend != "mysql" {
        return Vec::new();
    }
    let clause = Clause::K1.id();
    let readme = "dlock-mysql/README.md#exceptions";
    let exception = |fault| Exception::new(SESSION_ENDED, backend, fault, clause, readme);
    SESSION_ENDING.map(exception).to_vec()
}

/// The declared exceptions that were seen, as a warning.
pub(crate) fn seen(judgement: &Judgement) -> Option<Finding> {
    let times: u64 = judgement.declared.values().sum();
    if times == 0 {
        return None;
    }
    let rows: Vec<_> = judgement.declared.keys().map(String::as_str).collect();
    let mut finding = Finding::new(SESSION_ENDED, Severity::Warning, "seen under faults");
    finding.found = format!("{times} times: {}", rows.join(", "));
    finding.clauses = vec![Clause::K1];
    finding.exception = Some(SESSION_ENDED.to_owned());
    "the network ended a session at the server: its lock was free before its holder knew"
        .clone_into(&mut finding.consequence);
    "have the resource compare tokens, which cover it".clone_into(&mut finding.advice);
    Some(finding)
}
