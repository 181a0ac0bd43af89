//! How it was measured, and what the numbers are of.

use maud::{Markup, html};

use super::{format, numbers, shown::Shown};
use crate::data::{Awake, Settings, UsedOnce};

/// How many notes of a store are shown, and how many characters of each.
const NOTES_MAX: usize = 12;
const NOTE_MAX: usize = 300;

pub(super) fn render(shown: &Shown<'_>, left_out: Option<&str>) -> Markup {
    let settings = &shown.run.settings;
    html! {
        section #how {
            h2 { "How it was measured" }
            div.cols {
                p {
                    "All stores took turns: " (format::plural(shown.run.rounds.len(), "round")) ", in each a slice of "
                    (format::plain_time(format::float(settings.slice_ms) * 1e6)) " of every store and of its bare driver, in an order "
                    "that the seed shuffles. A disturbance is the same for all."
                    (awake(settings))
                }
                p {
                    "A ratio is the median over the rounds. Its interval of 95 % is a bootstrap over blocks of rounds, with "
                    (format::count(u64::from(settings.resamples))) " resamples. Only locks that ended within a slice count."
                }
                p {
                    "Latencies are whole distributions. Processor time is the process’s own account, the server’s is its own or "
                    "the kernel’s. The limit counts exchanges with the server, and the scarcest resource."
                }
                p {
                    "The data is inside this file: " code { "dlock bench --compare OLD NEW" } " reads it, as it reads the output of "
                    code { "--json" } "."
                    @if let Some(what) = left_out { " " (what) ": " code { "--json" } " has them." }
                }
            }
            (notes(shown))
            details { summary { "All numbers" } (numbers::render(shown)) }
        }
    }
}

/// Whether idle cores slept in the workloads that have one request at a time.
fn awake(settings: &Settings) -> String {
    match &settings.awake {
        None => String::new(),
        Some(Awake::Cores(cores)) => format!(
            " Where there is one request at a time, a process of the class SCHED_IDLE kept {} awake.",
            format::plural(*cores as usize, "core")
        ),
        Some(Awake::Not(why)) => format!(
            " Where there is one request at a time, cores slept in between: {}.",
            format::clipped(why, NOTE_MAX)
        ),
    }
}

/// The baselines in words, and what could not be measured.
fn notes(shown: &Shown<'_>) -> Markup {
    html! {
        ul.notes {
            @for store in &shown.stores {
                li {
                    b class=(store.series().class()) { (store.name) } " " code { (store.data.url) }
                    @if let Some(floor) = &store.data.floor { ". The driver alone: " (floor) }
                    @if let Some(floor) = &store.data.floor_of_new_names { ". With a name that is used once: " (floor) }
                    @if let Some(used) = &store.data.used_once { ". " (used_once(*used)) }
                    @if let Some(own) = &store.data.own_lock { ". The server’s own lock: " (own) }
                    @for note in store.data.notes.iter().take(NOTES_MAX) { ". " (format::clipped(note, NOTE_MAX)) }
                    @if store.data.notes.len() > NOTES_MAX { ". And " (store.data.notes.len() - NOTES_MAX) " more notes" }
                    "."
                }
            }
        }
    }
}

fn used_once(used: UsedOnce) -> String {
    let [names, removed, locks] = [used.names, used.removed, used.locks].map(format::count);
    format!(
        "Names used once: {names}, of which {removed} rows, files or directories were removed and {locks} locks were left"
    )
}
