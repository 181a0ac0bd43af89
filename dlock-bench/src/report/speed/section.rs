//! The section itself.

use maud::{Markup, html};

use super::{cost, crash, latencies, limits};
use crate::report::{card::Card, shown::Shown};

/// The workloads of a full run, and the command that measures them.
const ALL: &str = "dlock bench --all";

pub(in crate::report) fn render(shown: &Shown<'_>) -> Markup {
    let all = [
        ("one lock", latencies::cycle(shown)),
        ("a steady load", latencies::steady(shown)),
        ("hand-over", latencies::hand_over(shown)),
        ("one shot", latencies::one_shot(shown)),
        ("take-over after a crash", crash::takeover(shown)),
        ("locks that are held", cost::held(shown)),
        ("contention", crash::contention(shown)),
        ("processor time", cost::processor(shown)),
    ];
    let missing = all.iter().filter(|(_, card)| card.is_none());
    let missing: Vec<&str> = missing.map(|(what, _)| *what).collect();
    let cards: Vec<&Card> = all.iter().filter_map(|(_, card)| card.as_ref()).collect();
    // Two in a row: with the limits below the first row no place stays empty.
    let (first, others) = cards.split_at(cards.len().min(2));
    html! {
        section #speed {
            h2 { "Speed" }
            p.legend {
                span { b { "●" } " dlock" }
                span { b.flo { "┄" } " the driver alone, without any safety" }
                span { b.lim { "▲" } " the least that round trips or durable writes allow" }
            }
            (grid(first))
            (limits::render(shown))
            (grid(others))
            @if !missing.is_empty() {
                p.note { "Not measured in this run: " (missing.join(", ")) "." @if !shown.run.settings.all { " " code { (ALL) } " measures all." } }
            }
        }
    }
}

fn grid(cards: &[&Card]) -> Markup {
    html! {
        @if !cards.is_empty() {
            div.grid { @for card in cards { (card.render()) } }
        }
    }
}
