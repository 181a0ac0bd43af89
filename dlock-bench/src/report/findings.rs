//! The findings on the servers, the gravest first, each with the command that mends it.

use dlock_verify::verdict::{Finding, Severity, StoreVerdict, Verdict};
use maud::{Markup, html};

use super::{
    safety,
    shown::{Shown, ShownStore},
};

/// How many lines of a witness are shown.
const WITNESS_MAX: usize = 12;

pub(super) fn render(shown: &Shown<'_>) -> Markup {
    let mut all: Vec<(&ShownStore<'_>, &Finding)> = (shown.stores.iter())
        .flat_map(|store| {
            let findings = store.verdict.iter().flat_map(|verdict| &verdict.findings);
            findings.map(move |finding| (store, finding))
        })
        .filter(|(_, finding)| finding.severity > Severity::Note)
        .collect();
    all.sort_by_key(|(_, finding)| (finding.accepted, std::cmp::Reverse(finding.severity)));
    html! {
        h3 { "What was found on the servers" }
        ul.find {
            @for store in &shown.stores { (failures(store)) }
            @for (store, finding) in &all { (found(store, finding)) }
            @for store in &shown.stores { (nothing(store, &all)) }
        }
    }
}

/// The clauses of a store that fail, with what proves it.
fn failures(store: &ShownStore<'_>) -> Markup {
    let clauses = store.verdict.iter().flat_map(|verdict| &verdict.clauses);
    html! {
        @for clause in clauses.filter(|clause| clause.verdict == Verdict::Fails) {
            li.ba {
                div { i.ic { "✕" } " " b { (store.name) } " " (clause.id.id()) " " (clause.title) " fails" }
                span { (clause.evidence) }
                @if !clause.witness.is_empty() {
                    pre { @for line in clause.witness.iter().take(WITNESS_MAX) { (line) "\n" } }
                }
            }
        }
    }
}

fn found(store: &ShownStore<'_>, finding: &Finding) -> Markup {
    let (class, sign) = match finding.severity {
        Severity::Danger => ("ba", "✕"),
        Severity::Warning => ("wa", "▲"),
        _ => ("un", "?"),
    };
    let clauses: Vec<&str> = finding.clauses.iter().map(|clause| clause.id()).collect();
    html! {
        li class=(class) {
            div {
                i.ic { (sign) } " " b { (store.name) } " " code { (finding.setting) }
                @if !clauses.is_empty() { " " small { (clauses.join(", ")) } }
                @if finding.accepted { " " small { "accepted" } }
            }
            span { (safety::described(finding)) @if !finding.wanted.is_empty() { " Wanted: " (finding.wanted) "." } }
            @if !finding.advice.is_empty() { code.do { (finding.advice) } }
        }
    }
}

/// A store without findings, or without a verdict.
fn nothing(store: &ShownStore<'_>, all: &[(&ShownStore<'_>, &Finding)]) -> Markup {
    let has_findings = all.iter().any(|(other, _)| std::ptr::eq(*other, store));
    let fails = |verdict: &StoreVerdict| {
        verdict
            .clauses
            .iter()
            .any(|clause| clause.verdict == Verdict::Fails)
    };
    html! {
        @match store.verdict {
            None => li.un { div { i.ic { "?" } " " b { (store.name) } } span { "Not verified in this run." } },
            Some(verdict) => {
                @if let Some(error) = &verdict.error {
                    li.un { div { i.ic { "?" } " " b { (store.name) } " could not be verified" } span { (error) } }
                } @else if !has_findings && !fails(verdict) {
                    li.ok { div { i.ic { "✓" } " " b { (store.name) } " " (server(verdict)) } span { "No setting endangers locks." } }
                }
                @if !verdict.residue.left.is_empty() {
                    li.ba {
                        div { i.ic { "✕" } " " b { (store.name) } " keeps entries of this verification" }
                        span { (verdict.residue.left.join(", ")) }
                    }
                }
            }
        }
    }
}

fn server(verdict: &StoreVerdict) -> String {
    let server = verdict.server.as_ref();
    server.map_or_else(String::new, |server| {
        let words = [&server.version, &server.role].map(String::as_str);
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        words.join(", ")
    })
}
