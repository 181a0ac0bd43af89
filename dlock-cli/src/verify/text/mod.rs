//! The verdicts for people.

pub(crate) mod number;

mod line;
mod mark;
#[cfg(test)]
mod tests;
mod wrap;

use console::Term;
use dlock_verify::verdict::{
    Clause, ClauseVerdict, Document, Finding, Outcome, Severity, StoreVerdict, Verdict,
};

use self::{
    line::{FINDING_AT, Line, hanging},
    mark::{Mark, strong},
    number::counted,
};
use super::{accept, bounds::FIRST_LOCK_SOON};

/// The width of a line at the most, and without a terminal: a terminal of 100 columns has room for it.
const WIDTH_MAX: usize = 96;

/// The width of a line at the least: a narrower terminal breaks lines by itself.
const WIDTH_MIN: usize = 40;

/// The column of a clause's evidence.
const EVIDENCE_AT: usize = 22;

/// The verdicts of all stores, as wide as the terminal.
pub(crate) fn show(document: &Document) -> String {
    let columns = Term::stdout().size_checked().map(|(_, columns)| columns);
    show_in(document, columns.map_or(WIDTH_MAX, usize::from))
}

fn show_in(document: &Document, columns: usize) -> String {
    let width = columns.clamp(WIDTH_MIN, WIDTH_MAX);
    let stores = document.stores.iter();
    let stores = stores.map(|store| {
        let lines = of_store(document, store, width);
        let lines = lines.iter().flat_map(|line| line.wrapped(width));
        lines.map(|line| line + "\n").collect::<String>()
    });
    stores.collect::<Vec<_>>().join("\n")
}

fn of_store(document: &Document, store: &StoreVerdict, width: usize) -> Vec<Line> {
    let mut lines = header(document, store, width);
    let waited = store.first_lock_seconds;
    if waited > FIRST_LOCK_SOON.as_secs_f64() {
        let text = format!(
            "waited {waited:.0} s for the first lock, beside the time of the verification: \
             the store may have forgotten locks"
        );
        lines.push(hanging(&format!("{} ", Mark::Note.shown()), 4, 4, &text));
    }
    let unknown = format!("{} ", Mark::Unknown.shown());
    match &store.error {
        // The reason is the same for each clause.
        Some(error) if has_no_cases(store) => {
            let text = format!("dlock cannot use the store: {error}");
            lines.push(hanging(&unknown, 4, 4, &text));
        }
        error => {
            if let Some(error) = error {
                lines.push(hanging(&unknown, 4, 4, error));
            }
            for clause in &store.clauses {
                lines.extend(of_clause(clause));
            }
        }
    }
    if !store.findings.is_empty() {
        let text = "Of the settings and declared exceptions, these apply here:";
        lines.push(hanging("", 2, 4, text));
    }
    for finding in &store.findings {
        lines.extend(of_finding(finding));
    }
    if !store.not_here.is_empty() {
        let ids = store.not_here.join(", ");
        lines.push(hanging("", 2, 4, &format!("not here: {ids}")));
    }
    for assumption in &store.assumptions {
        let (name, found, allowed) = (&assumption.name, &assumption.found, &assumption.allowed);
        let text = format!("assumed: {name}: {found} (allowed: {allowed})");
        lines.push(hanging("", 2, 4, &text));
    }
    lines.extend(left(store));
    lines.extend(conclusion(store));
    lines
}

/// Whether no lock was tried.
fn has_no_cases(store: &StoreVerdict) -> bool {
    let mut clauses = store.clauses.iter();
    clauses.all(|clause| clause.verdict == Verdict::Unknown && clause.cases.is_empty())
}

fn header(document: &Document, store: &StoreVerdict, line: usize) -> Vec<Line> {
    let url = strong(&store.url);
    let mut width = store.url.chars().count();
    let mut server = String::new();
    if let Some(known) = &store.server {
        let words = [&known.product, &known.version].map(String::as_str);
        server = words.join(" ").trim().to_owned();
        if !known.role.is_empty() {
            server = format!("{server}, {}", known.role);
        }
        width += 3 + server.chars().count();
    }
    let grants = counted(store.grants, "grant");
    let faults = counted(store.strikes(), "fault");
    let (seconds, seed) = (store.seconds, &document.seed);
    let run = format!("{seconds:.0} s, {grants}, {faults}, seed {seed}");
    let (first, below) = match (line.checked_sub(width), server.is_empty()) {
        (Some(_), false) => (format!("{url}   {server}"), ""),
        _ => (url, server.as_str()),
    };
    match line.checked_sub(width + run.chars().count()) {
        Some(room @ 2..) => vec![Line::whole(format!("{first}{}{run}", " ".repeat(room)))],
        _ => {
            let below = [below, &run].into_iter().filter(|text| !text.is_empty());
            let below = below.map(|text| hanging("", 2, 4, text));
            std::iter::once(Line::whole(first)).chain(below).collect()
        }
    }
}

fn of_clause(clause: &ClauseVerdict) -> Vec<Line> {
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
    let mut lines = vec![hanging(&head, EVIDENCE_AT, EVIDENCE_AT, &evidence)];
    let witness = clause.witness.iter();
    lines.extend(witness.map(|line| hanging("", FINDING_AT, FINDING_AT + 2, line)));
    lines
}

fn of_finding(finding: &Finding) -> Vec<Line> {
    let mark = match finding.severity {
        Severity::Covered => Mark::Holds,
        Severity::Note => Mark::Note,
        Severity::Unknown => Mark::Unknown,
        Severity::Warning => Mark::Warning,
        _ => Mark::Fails,
    };
    let mut text = format!("{} – {}: {}", finding.id, finding.setting, finding.found);
    if !finding.wanted.is_empty() {
        text = format!("{text} (wanted: {})", finding.wanted);
    }
    if finding.accepted {
        text.push_str(" (accepted)");
    }
    let mut lines = vec![hanging(&format!("{} ", mark.shown()), 4, FINDING_AT, &text)];
    let clauses: Vec<_> = finding.clauses.iter().map(|clause| clause.id()).collect();
    let consequence = match clauses.join(", ") {
        none if none.is_empty() => finding.consequence.clone(),
        clauses => format!("{clauses}: {}", finding.consequence),
    };
    if !finding.consequence.is_empty() {
        lines.push(hanging("", FINDING_AT, FINDING_AT, &consequence));
    }
    if !finding.advice.is_empty() {
        let advice = format!("→ {}", finding.advice);
        lines.push(hanging("", FINDING_AT, FINDING_AT + 2, &advice));
    }
    lines
}

fn left(store: &StoreVerdict) -> Vec<Line> {
    let left = store.residue.left.iter();
    let line = |entry: &String| {
        let text = format!("left in the store: {entry}");
        hanging(&format!("{} ", Mark::Fails.shown()), 4, FINDING_AT, &text)
    };
    let unknown = store.residue.unknown.iter().map(|why| {
        let text = format!("could not check what is left in the store, which expires: {why}");
        hanging(&format!("{} ", Mark::Unknown.shown()), 4, FINDING_AT, &text)
    });
    left.map(line).chain(unknown).collect()
}

fn conclusion(store: &StoreVerdict) -> Vec<Line> {
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
    let (fails, unanswered) = (clauses(Verdict::Fails), clauses(Verdict::Unknown));
    let (untried, not_tried): (Vec<_>, Vec<_>) = clauses(Verdict::NotTried)
        .into_iter()
        // Exclusion has to be tried.
        .partition(|id| *id == Clause::K1.id());
    let open: Vec<_> = unread
        .into_iter()
        .chain(unanswered.clone())
        .chain(untried)
        .collect();
    // No id accepts these.
    let whole = [
        (store.error.is_some(), "the locks under faults"),
        (store.residue.unknown.is_some(), "the entries that are left"),
    ];
    let mut names = open.clone();
    if store.error.is_some() && has_no_cases(store) {
        names.retain(|name| !unanswered.contains(name));
        names.insert(0, "K1 to K13");
    } else {
        names.extend(
            whole
                .iter()
                .filter(|(is_open, _)| *is_open)
                .map(|(_, name)| *name),
        );
    }
    let counted = [
        (fails.len(), "clause fails", "clauses fail"),
        (dangers.len(), "danger", "dangers"),
        (store.residue.left.len(), "entry left", "entries left"),
        (names.len(), "unknown", "unknown"),
        (warnings.len(), "warning", "warnings"),
        (not_tried.len(), "not tried", "not tried"),
    ];
    let mut lines = vec![Line::whole(end(store, &counted))];
    if !names.is_empty() {
        let text = format!("unknown: {}", names.join(", "));
        lines.push(hanging("", 2, 4, &text));
    }
    let live_with: Vec<_> = dangers.into_iter().chain(open).collect();
    if !live_with.is_empty() && would_hold(store, &live_with) {
        let ids: Vec<_> = live_with
            .iter()
            .map(|id| format!("--accept={id}"))
            .collect();
        let text = format!("live with it: {}", ids.join(" "));
        lines.push(hanging("", 2, 4, &text));
    }
    lines
}

/// The outcome, and the counts that are not zero, each with its singular and plural.
fn end(store: &StoreVerdict, counted: &[(usize, &str, &str)]) -> String {
    let counted = counted.iter().filter(|(count, ..)| *count > 0);
    let counted: Vec<_> = counted
        .map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }))
        .collect();
    let word = match Outcome::of(store) {
        Outcome::Holds => "HOLDS",
        Outcome::Unknown => "NOT KNOWN",
        _ => "NOT SAFE AS IT IS",
    };
    match counted.is_empty() {
        true => strong(word),
        false => format!("{}: {}", strong(word), counted.join(", ")),
    }
}

/// Whether nothing is in the way when these ids are accepted, too.
fn would_hold(store: &StoreVerdict, ids: &[&str]) -> bool {
    let mut store = store.clone();
    accept::also(&mut store, ids);
    Outcome::of(&store) == Outcome::Holds
}
