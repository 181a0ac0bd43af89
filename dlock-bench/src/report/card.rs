//! A figure with its caption.

use maud::{Markup, html};

/// Something that was measured, as it is shown.
#[derive(Clone, Debug)]
pub(super) struct Card {
    pub(super) title: &'static str,
    /// The workload, and how often it was measured.
    pub(super) caption: String,
    pub(super) figure: Markup,
    /// How to read it.
    pub(super) note: Option<Markup>,
}

impl Card {
    pub(super) fn render(&self) -> Markup {
        html! {
            figure {
                figcaption { b { (self.title) } span { (self.caption) } }
                (self.figure)
                @if let Some(note) = &self.note { p.note { (note) } }
            }
        }
    }
}
