//! The data of the run inside its report.

use maud::{Markup, PreEscaped, html};
use serde_json::Error;

use crate::data::{ELEMENT_BEGIN, ELEMENT_END, Run};

/// A part that is left out of data that is too long, in words, and how.
type Part = (&'static str, fn(&mut Run));

/// The parts in their order: with each the former ones are left out, too.
const LONG: [Part; 3] = [
    ("The raw rounds are too many for this file", |run| {
        run.sides.clear();
        run.rounds.clear();
    }),
    (
        "The raw rounds and the verdicts are too many for this file",
        |run| run.verdicts = None,
    ),
    ("The data is too large for this file", |_| {}),
];

/// The data as it fits into a report.
#[derive(Debug)]
pub(super) struct Embedded {
    json: String,
    /// The parts that were left out, so that the report keeps its bound.
    pub(super) left_out: Option<&'static str>,
}

impl Embedded {
    /// The data in at most `size_max` bytes: all of it, or without the parts that are long.
    pub(super) fn new(run: &Run, size_max: usize) -> Result<Self, Error> {
        let mut left_out = None;
        let mut run = run.clone();
        for (what, leave_out) in LONG {
            let json = harmless(&serde_json::to_string(&run)?);
            if json.len() <= size_max {
                return Ok(Self { json, left_out });
            }
            leave_out(&mut run);
            left_out = Some(what);
        }
        Ok(Self {
            json: String::new(),
            left_out,
        })
    }

    pub(super) fn render(&self) -> Markup {
        html! {
            @if !self.json.is_empty() {
                (PreEscaped(ELEMENT_BEGIN)) (PreEscaped(&self.json)) (PreEscaped(ELEMENT_END))
            }
        }
    }
}

/// The same JSON without a character that HTML has a meaning for. Outside of strings JSON has none of them.
fn harmless(json: &str) -> String {
    json.replace('<', r"\u003c")
        .replace('>', r"\u003e")
        .replace('&', r"\u0026")
}
