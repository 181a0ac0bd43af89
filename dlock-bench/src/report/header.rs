//! The head of the report: when, where and how quietly it was measured.

use maud::{Markup, html};

use super::{format, shown::Shown};
use crate::data::{Badge, Machine, Run, SAME_TWICE};

const NUMBERS: [&str; 9] = [
    "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten",
];

/// The title of the page.
pub(super) fn title(shown: &Shown<'_>) -> String {
    match shown.stores.as_slice() {
        [] => "No store".to_owned(),
        [one] => format!("{}, measured", one.name),
        several => {
            let number = several.len();
            let word = NUMBERS.get(number - 2).map(|word| (*word).to_owned());
            format!(
                "{} stores, one lock",
                word.unwrap_or_else(|| number.to_string())
            )
        }
    }
}

/// Memory is counted in these.
const GIB: f64 = 1_073_741_824.0;

pub(super) fn render(shown: &Shown<'_>) -> Markup {
    let run = shown.run;
    html! {
        header {
            p.eyebrow { "dlock bench · report" }
            h1 { (title(shown)) }
            p.meta {
                (moment(&run.begun_at)) " · " (format::span(run.took_ms)) " · "
                (machine(&run.machine)) " · dlock " (run.version) " · seed " code { (run.seed) }
            }
            (quiet(run))
        }
    }
}

/// `2026-11-22T03:10:00Z` without what no reader needs.
fn moment(begun_at: &str) -> String {
    let is_plain = begun_at.len() == 20 && begun_at.is_ascii() && begun_at.ends_with('Z');
    let parts = begun_at.get(..10).zip(begun_at.get(11..16));
    match parts {
        Some((day, time)) if is_plain => format!("{day}, {time} UTC"),
        _ => begun_at.to_owned(),
    }
}

fn machine(machine: &Machine) -> String {
    let cores = format::plural(machine.cores as usize, "core");
    let memory = machine
        .memory_bytes
        .map(|bytes| format!("{:.0}\u{a0}GiB", format::float(bytes) / GIB));
    let words = [
        Some(cores),
        memory,
        machine.processor.clone(),
        machine.kernel.clone(),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn quiet(run: &Run) -> Markup {
    let noise = &run.noise;
    let is_quiet = matches!(noise.badge, Badge::Quiet);
    let difference = format::percent(noise.same_twice);
    html! {
        p.quiet {
            @if is_quiet { span.chip.ok { "✓ quiet machine" } } @else { span.chip.wa { "▲ noisy machine" } }
            " The same thing measured twice differed by " b { (difference) } ". Differences below that are noise."
            @for reason in noise.reasons.iter().filter(|reason| !reason.starts_with(SAME_TWICE)) { " " (format::sentence(reason)) }
            @if !is_quiet { " Rates are grey; processor times lead." }
            @if !run.settled { " " b { "Not settled" } ": the time was over before all intervals were narrow." }
        }
    }
}
