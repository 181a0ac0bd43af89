//! One of the four sentences.

use maud::{Markup, html};

use crate::report::shown::ShownStore;

/// One of the four sentences.
#[derive(Debug, PartialEq)]
pub(super) struct Tile {
    pub(super) about: &'static str,
    pub(super) head: String,
    pub(super) text: String,
    /// A command or a key of a URL that mends it.
    advice: Option<String>,
    /// The text below.
    more: String,
    is_warning: bool,
}

/// How many names fit into the head of a tile.
const NAMES_MAX: usize = 3;

pub(super) fn names(stores: &[&ShownStore<'_>]) -> String {
    let names: Vec<&str> = stores
        .iter()
        .take(NAMES_MAX)
        .map(|store| store.name.as_str())
        .collect();
    match stores.len().saturating_sub(NAMES_MAX) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

impl Tile {
    pub(super) fn new(
        about: &'static str,
        head: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            about,
            head: head.into(),
            text: text.into(),
            advice: None,
            more: String::new(),
            is_warning: false,
        }
    }

    pub(super) fn with_advice(self, advice: &str) -> Self {
        let advice = Some(advice.to_owned());
        Self { advice, ..self }
    }

    pub(super) fn with_more(self, more: String) -> Self {
        Self { more, ..self }
    }

    pub(super) fn warning(self) -> Self {
        Self {
            is_warning: true,
            ..self
        }
    }

    pub(super) fn render(&self) -> Markup {
        let class = if self.is_warning { "tile warn" } else { "tile" };
        html! {
            div class=(class) {
                small { (self.about) }
                b { (self.head) }
                p { (self.text) @if let Some(advice) = &self.advice { " " code { (advice) } "." } (self.more) }
            }
        }
    }
}
