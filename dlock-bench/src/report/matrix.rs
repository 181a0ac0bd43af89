//! Clause × store: what holds, in how many grants.

use dlock_verify::verdict::{Clause, ClauseVerdict, StoreVerdict, Verdict};
use maud::{Markup, html};

use super::{
    format,
    shown::{Shown, ShownStore},
};

pub(super) fn render(shown: &Shown<'_>) -> Markup {
    html! {
        div.scroll {
            table.mx {
                thead { tr {
                    th scope="col" { "Clause of the contract" }
                    @for store in &shown.stores { th scope="col" class=(store.series().class()) { span { (store.name) } } }
                } }
                tbody {
                    @for clause in Clause::ALL {
                        tr {
                            th scope="row" { b { (clause.id()) } " " (clause.title()) }
                            @for store in &shown.stores { (cell(store, clause)) }
                        }
                    }
                    (sum(shown, "Grants", |store| store.grants))
                    (sum(shown, "Faults injected", StoreVerdict::strikes))
                }
            }
        }
    }
}

fn cell(store: &ShownStore<'_>, clause: Clause) -> Markup {
    let found = store
        .verdict
        .and_then(|verdict| verdict.clauses.iter().find(|found| found.id == clause));
    let Some(found) = found else {
        return html! { td.na { (format::NONE) } };
    };
    let (class, sign, word) = match found.verdict {
        Verdict::Holds => ("ok", "✓", "holds"),
        Verdict::Fails => ("ba", "✕", "fails"),
        Verdict::NotTried => ("un", "–", "not tried"),
        _ if found.accepted => ("un", "?", "accepted"),
        _ => ("un", "?", "unknown"),
    };
    html! {
        td class=(class) title=(title(found)) { b { (sign) " " (word) } " " small { (below(found)) } }
    }
}

/// The grants of the clause, and otherwise its cases.
fn below(clause: &ClauseVerdict) -> String {
    match (clause.grants, clause.cases.len()) {
        (0, 0) => String::new(),
        (0, cases) => format::plural(cases, "case"),
        (grants, _) => format::count(grants),
    }
}

fn title(clause: &ClauseVerdict) -> String {
    let failed = clause
        .cases
        .iter()
        .filter(|case| case.verdict != Verdict::Holds);
    let failed = failed.map(|case| format!("{}: {}", case.name, case.why));
    let lines: Vec<String> = [clause.evidence.clone()]
        .into_iter()
        .chain(failed)
        .collect();
    lines.join("\n")
}

fn sum(shown: &Shown<'_>, what: &str, number: fn(&StoreVerdict) -> u64) -> Markup {
    html! {
        tr.sum {
            th scope="row" { (what) }
            @for store in &shown.stores {
                @match store.verdict {
                    Some(verdict) => td.ctl { b { (format::count(number(verdict))) } },
                    None => td.na { (format::NONE) },
                }
            }
        }
    }
}
