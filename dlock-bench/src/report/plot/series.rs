//! One store in a figure: its colour, its shape and its name.

use maud::{Markup, html};

use super::svg::{At, polygon};
use crate::report::format;

/// A store in all figures. The kind is its colour and its shape.
#[derive(Clone, Copy, Debug)]
pub(in crate::report) struct Series<'a> {
    pub(in crate::report) kind: usize,
    pub(in crate::report) name: &'a str,
}

/// How many colours and shapes there are; then they begin again, and the names differ.
pub(in crate::report) const KINDS: usize = 6;

impl<'a> Series<'a> {
    /// The class that sets the colour.
    pub(in crate::report) fn class(&self) -> &'static str {
        ["s0", "s1", "s2", "s3", "s4", "s5"][self.kind % KINDS]
    }

    /// The store's shape, `radius` large, in its colour.
    pub(in crate::report) fn mark(&self, x: f64, y: f64, radius: f64) -> Markup {
        let class = self.class();
        let corners = |number: u8, turn: f64, stretch: f64| {
            polygon(
                &format!("mk {class}"),
                (x, y),
                radius * stretch,
                number,
                turn,
            )
        };
        match self.kind % KINDS {
            0 => html! { circle class={ "mk " (class) } cx=(At(x)) cy=(At(y)) r=(At(radius)) {} },
            1 => corners(4, 0.125, 1.25),
            2 => corners(3, 0.0, 1.3),
            3 => corners(4, 0.0, 1.3),
            4 => corners(5, 0.0, 1.15),
            _ => corners(3, 0.5, 1.3),
        }
    }

    /// The shape alone, for a table or a heading.
    pub(in crate::report) fn key(&self) -> Markup {
        html! {
            svg class="key" viewBox="0 0 14 14" aria-hidden="true" { (self.mark(7.0, 7.0, 5.0)) }
        }
    }

    /// The name in as many characters as a figure has room for.
    pub(super) fn short(&self, characters: usize) -> String {
        format::clipped(self.name, characters)
    }
}
