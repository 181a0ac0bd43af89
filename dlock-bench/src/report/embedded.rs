//! The data of the run inside its report.

use maud::{Markup, PreEscaped, html};
use serde_json::Error;

use crate::data::{ELEMENT_BEGIN, ELEMENT_END, Run};

/// The data as it fits into a report.
#[derive(Debug)]
pub(super) struct Embedded {
    json: String,
    /// The parts that were left out, so that the report keeps its bound.
    pub(super) left_out: Option<&'static str>,
}

impl Embedded {
    /// The data in at most `size_max` bytes: with the raw rounds, without them, or not at all.
    pub(super) fn new(run: &Run, size_max: usize) -> Result<Self, Error> {
        let whole = harmless(&serde_json::to_string(run)?);
        if whole.len() <= size_max {
            return Ok(Self {
                json: whole,
                left_out: None,
            });
        }
        let without = Run {
            sides: Vec::new(),
            rounds: Vec::new(),
            ..run.clone()
        };
        let without = harmless(&serde_json::to_string(&without)?);
        if without.len() <= size_max {
            return Ok(Self {
                json: without,
                left_out: Some("The raw rounds are too many for this file"),
            });
        }
        Ok(Self {
            json: String::new(),
            left_out: Some("The data is too large for this file"),
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
