//! The verdicts for people.

pub(crate) mod number;

mod mark;
mod wrap;

use dlock_verify::verdict::{
    ClauseVerdict, Document, Finding, Outcome, Severity, StoreVerdict, Verdict,
};

use self::{
    mark::{Mark, strong},
    number::grouped,
    wrap::wrap,
};

/// The width of a line: a terminal of 100 columns has room for it.
const WIDTH: usize = 96;

/// The column of a clause's evidence.
const EVIDENCE_AT: usize = 22;

/// The column of a finding's text.
const FINDING_AT: usize = 6;

/// The verdicts of all stores.
pub(crate) fn show(document: &Document) -> String {
    let stores = document.stores.iter();
    let stores: Vec<_> = stores.map(|store| of_store(document, store)).collect();
    stores.join("\n")
}

fn of_store(document: &Document, store: &StoreVerdict) -> String {
    let mut lines = header(document, store);
    if let Some(error) = &store.error {
        lines.extend(hanging(&Mark::Unknown.shown(), 2, 4, error));
    }
    for clause in &store.clauses {
        lines.extend(of_clause(clause));
    }
    if !store.findings.is_empty() {
        lines.push("  Of the settings and declared exceptions, these apply here:".to_owned());
    }
    for finding in &store.findings {
        lines.extend(of_finding(finding));
    }
    if !store.not_here.is_empty() {
        let ids = store.not_here.join(", ");
        lines.extend(hanging("", 2, 4, &format!("not here: {ids}")));
    }
    for assumption in &store.assumptions {
        let (name, found, allowed) = (&assumption.name, &assumption.found, &assumption.allowed);
        let text = format!("assumed: {name}: {found} (allowed: {allowed})");
        lines.extend(hanging("", 2, 4, &text));
    }
    lines.extend(left(store));
    lines.extend(conclusion(store));
    lines.join("\n") + "\n"
}

fn header(document: &Document, store: &StoreVerdict) -> Vec<String> {
    let mut first = strong(&store.url);
    let mut width = store.url.chars().count();
    if let Some(server) = &store.server {
        let words = [&server.product, &server.version].map(String::as_str);
        let mut words = words.join(" ").trim().to_owned();
        if !server.role.is_empty() {
            words = format!("{words}, {}", server.role);
        }
        width += 3 + words.chars().count();
        first = format!("{first}   {words}");
    }
    let (grants, faults) = (grouped(store.grants), grouped(store.strikes()));
    let (seconds, seed) = (store.seconds, &document.seed);
    let run = format!("{seconds:.0} s, {grants} grants, {faults} faults, seed {seed}");
    match WIDTH.checked_sub(width + run.chars().count()) {
        Some(room @ 2..) => vec![format!("{first}{}{run}", " ".repeat(room))],
        _ => vec![first, format!("  {run}")],
    }
}

fn of_clause(clause: &ClauseVerdict) -> Vec<String> {
    let mark = match clause.verdict {
        Verdict::Holds => Mark::Holds,
        Verdict::Fails => Mark::Fails,
        Verdict::NotTried => Mark::NotTried,
        _ => Mark::Unknown,
    };
    let (id, title) = (clause.id, &clause.title);
    let head = format!("{} {id:<4}{title:<13}", mark.shown());
    let accepted = if clause.accepted { " (accepted)" } else { "" };
    let evidence = format!("{}{accepted}", clause.evidence);
    let mut lines = hanging(&head, EVIDENCE_AT, EVIDENCE_AT, &evidence);
    let witness = clause.witness.iter();
    lines.extend(witness.map(|line| format!("      {line}")));
    lines
}

fn of_finding(finding: &Finding) -> Vec<String> {
    let mark = match finding.severity {
        Severity::Covered => Mark::Holds,
        Severity::Note => Mark::Note,
        Severity::Unknown => Mark::Unknown,
        Severity::Warning => Mark::Warning,
        _ => Mark::Fails,
    };
    let mut text = format!("{}  {}: {}", finding.id, finding.setting, finding.found);
    if !finding.wanted.is_empty() {
        text = format!("{text} (wanted: {})", finding.wanted);
    }
    if finding.accepted {
        text.push_str(" (accepted)");
    }
    let mut lines = hanging(&format!("{} ", mark.shown()), 4, FINDING_AT, &text);
    let clauses: Vec<_> = finding.clauses.iter().map(|clause| clause.id()).collect();
    let consequence = match clauses.join(", ") {
        none if none.is_empty() => finding.consequence.clone(),
        clauses => format!("{clauses}: {}", finding.consequence),
    };
    if !finding.consequence.is_empty() {
        lines.extend(hanging("", FINDING_AT, FINDING_AT, &consequence));
    }
    if !finding.advice.is_empty() {
        let advice = format!("→ {}", finding.advice);
        lines.extend(hanging("", FINDING_AT, FINDING_AT + 2, &advice));
    }
    lines
}

fn left(store: &StoreVerdict) -> Vec<String> {
    let left = store.residue.left.iter();
    let line = |entry: &String| {
        let text = format!("left in the store: {entry}");
        hanging(&format!("{} ", Mark::Fails.shown()), 4, FINDING_AT, &text)
    };
    let unknown = store.residue.unknown.iter().flat_map(|why| {
        let text = format!("what is left in the store is not known, and expires: {why}");
        hanging(&format!("{} ", Mark::Unknown.shown()), 4, FINDING_AT, &text)
    });
    left.flat_map(line).chain(unknown).collect()
}

fn conclusion(store: &StoreVerdict) -> Vec<String> {
    let of = |severity| {
        let findings = store.findings.iter();
        let found = findings.filter(|one| one.severity == severity && !one.accepted);
        found.map(|one| one.id.as_str()).collect::<Vec<_>>()
    };
    let clauses = |verdict| {
        let clauses = store.clauses.iter();
        let found = clauses.filter(|one| one.verdict == verdict && !one.accepted);
        found.map(|one| one.id.id()).collect::<Vec<_>>()
    };
    let (dangers, warnings, unread) = (
        of(Severity::Danger),
        of(Severity::Warning),
        of(Severity::Unknown),
    );
    let (fails, unknown) = (clauses(Verdict::Fails), clauses(Verdict::Unknown));
    let not_tried = clauses(Verdict::NotTried);
    let counted = [
        (fails.len(), "clause fails", "clauses fail"),
        (dangers.len(), "danger", "dangers"),
        (unknown.len() + unread.len(), "unknown", "unknown"),
        (warnings.len(), "warning", "warnings"),
        (not_tried.len(), "not tried", "not tried"),
    ];
    let counted = counted.iter().filter(|(count, ..)| *count > 0);
    let counted: Vec<_> = counted
        .map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }))
        .collect();
    let word = match Outcome::of(store) {
        Outcome::Holds => "HOLDS",
        Outcome::Unknown => "NOT KNOWN",
        _ => "NOT SAFE AS IT IS",
    };
    let mut line = strong(word);
    if !counted.is_empty() {
        line = format!("{line}: {}", counted.join(", "));
    }
    let mut lines = vec![line];
    let live_with: Vec<_> = dangers.into_iter().chain(unread).chain(unknown).collect();
    if !live_with.is_empty() {
        let ids: Vec<_> = live_with
            .iter()
            .map(|id| format!("--accept {id}"))
            .collect();
        let text = format!("live with it: {}", ids.join(" "));
        lines.extend(hanging("", 2, 4, &text));
    }
    lines
}

/// `head`, and the words of `text` from the column `first` on; further lines begin at the column `then`.
///
/// A head has colours, so its width is that of the column.
fn hanging(head: &str, first: usize, then: usize, text: &str) -> Vec<String> {
    let lines = wrap(text, WIDTH - first.max(then));
    let mut shown = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        shown.push(match index {
            0 if head.is_empty() => format!("{}{line}", " ".repeat(first)),
            0 => format!("  {head}{line}"),
            _ => format!("{}{line}", " ".repeat(then)),
        });
    }
    shown
}
