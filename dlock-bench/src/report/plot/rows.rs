//! Figures with one row for each store: the name at the left, a number at the right.

use maud::{Markup, html};

use super::{
    scale::Scale,
    series::Series,
    svg::{self, Anchor},
};

pub(super) const WIDTH: f64 = 400.0;
/// Where the values are.
pub(super) const ACROSS: [f64; 2] = [104.0, 322.0];
pub(super) const TOP: f64 = 6.0;
/// Below the last row: the axis.
pub(super) const AXIS: f64 = 24.0;

/// The room that a label of the axis needs.
const LABEL: f64 = 46.0;
const NAME_MAX: usize = 11;

/// The middle of each row.
pub(super) fn middles(number: usize, step: f64) -> impl Iterator<Item = f64> {
    (0..number).map(move |row| {
        let row = u32::try_from(row).unwrap_or(u32::MAX);
        TOP + (f64::from(row) + 0.5) * step
    })
}

/// The height of all rows together.
pub(super) fn bottom(number: usize, step: f64) -> f64 {
    let rows = u32::try_from(number).unwrap_or(u32::MAX);
    TOP + f64::from(rows) * step
}

pub(super) fn name(series: &Series<'_>, middle: f64) -> Markup {
    let class = format!("lb {}", series.class());
    html! {
        (series.mark(7.0, middle, 4.6))
        (svg::text(&class, (17.0, middle + 4.5), Anchor::Start, &series.short(NAME_MAX)))
    }
}

/// A number at the right end of a row, or of a lane of it.
pub(super) fn number(class: &str, at: f64, words: &str) -> Markup {
    svg::text(class, (WIDTH - 4.0, at + 4.0), Anchor::End, words)
}

/// The grid of values, and their axis below the rows.
pub(super) fn axis(scale: &Scale, bottom: f64, words: fn(f64) -> String) -> Markup {
    let ticks = scale.ticks();
    let is_dense = ticks
        .windows(2)
        .any(|pair| pair[1].place - pair[0].place < LABEL);
    html! {
        @for (number, tick) in ticks.iter().enumerate() {
            (svg::line("gr", (tick.place, TOP), (tick.place, bottom)))
            @if !is_dense || number % 2 == 0 {
                (svg::text("tk", (tick.place, bottom + 18.0), Anchor::Middle, &words(tick.value)))
            }
        }
    }
}
