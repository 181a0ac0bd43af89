//! Fault × store: how often each fault bit, and what it broke.

use dlock_verify::verdict::FaultEffect;
use maud::{Markup, html};

use super::{
    format,
    shown::{Shown, ShownStore},
};

/// The faults in words, in the order of the rows. One that is not here has its id.
const WORDS: [(&str, &str); 14] = [
    ("kill-holder", "Holder killed"),
    ("stop-holder", "Holder frozen"),
    ("kill-waiter", "Waiter killed"),
    ("stop-waiter", "Waiter frozen"),
    ("kill-worker", "Process killed"),
    ("stop-worker", "Process frozen"),
    ("net-hold", "Network hangs"),
    ("net-hold-requests", "Requests hang"),
    ("net-hold-replies", "Replies hang"),
    ("net-delay", "Network is slow"),
    ("net-swallow-rst", "Reply lost, then a reset"),
    ("net-swallow-fin", "Reply lost, then a close"),
    ("net-cut", "Connections cut"),
    ("net-half-open", "Client’s host vanishes"),
];

/// The matrix; nothing if no fault struck.
pub(super) fn render(shown: &Shown<'_>) -> Markup {
    let faults = rows(shown);
    html! {
        @if !faults.is_empty() {
            h3 { "What was done to the clients" }
            p.lead {
                "Each cell: promises broken while the fault was on, and the locks granted in that time. A fault "
                i { "bit" } " when it cost a lock or a reply; one that never did proves nothing."
            }
            div.scroll {
                table.mx.faults {
                    thead { tr {
                        th scope="col" { "Fault" }
                        @for store in &shown.stores { th scope="col" class=(store.series().class()) { span { (store.name) } } }
                    } }
                    tbody {
                        @for fault in &faults {
                            tr {
                                th scope="row" title=(fault) { (words(fault)) }
                                @for store in &shown.stores { (cell(effect(store, fault))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The ids of all faults that struck any store: those with words first.
fn rows<'a>(shown: &'a Shown<'_>) -> Vec<&'a str> {
    let struck = shown.stores.iter().filter_map(|store| store.verdict);
    let struck = struck.flat_map(|verdict| verdict.faults.iter().map(|fault| fault.id.as_str()));
    let mut ids: Vec<&str> = struck.collect();
    let place = |id: &str| WORDS.iter().position(|(known, _)| *known == id);
    ids.sort_by_key(|id| (place(id).unwrap_or(WORDS.len()), *id));
    ids.dedup();
    ids
}

fn words(id: &str) -> &str {
    let known = WORDS.iter().find(|(known, _)| *known == id);
    known.map_or(id, |(_, words)| words)
}

fn effect<'a>(store: &'a ShownStore<'_>, id: &str) -> Option<&'a FaultEffect> {
    let mut faults = store.verdict?.faults.iter();
    faults.find(|fault| fault.id == id)
}

fn cell(effect: Option<&FaultEffect>) -> Markup {
    let Some(effect) = effect else {
        return html! { td.na { (format::NONE) } };
    };
    let (class, sign, what) = match effect {
        effect if effect.violations > 0 => ("ba", "✕", broken(effect.violations)),
        effect if effect.declared > 0 => (
            "wa",
            "▲",
            format!("{} declared", format::count(effect.declared)),
        ),
        effect if effect.bit == 0 => ("un", "?", "never bit".to_owned()),
        _ => ("ok", "✓", "0".to_owned()),
    };
    html! {
        td class=(class) title=(title(effect)) {
            b { (sign) " " (what) } " "
            small { "of " (format::count(effect.grants)) @if effect.bit > 0 { "," } }
            @if effect.bit > 0 { " " small { "bit " (format::count(effect.bit)) "\u{a0}×" } }
        }
    }
}

fn broken(number: u64) -> String {
    format!("{} broken", format::count(number))
}

fn title(effect: &FaultEffect) -> String {
    let FaultEffect {
        id,
        strikes,
        bit,
        grants,
        violations,
        declared,
        ..
    } = effect;
    format!(
        "{id}: strikes {strikes}, bites {bit}, grants {grants}, violations {violations}, declared {declared}"
    )
}
