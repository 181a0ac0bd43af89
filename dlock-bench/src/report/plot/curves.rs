//! Lines on two axes, one for each store, each with its name at its end.

use maud::{Markup, html};

use super::{
    scale::{Scale, Tick},
    series::Series,
    svg::{self, Anchor},
};

/// A store's line.
#[derive(Clone, Debug)]
pub(super) struct Curve<'a> {
    pub(super) series: Series<'a>,
    /// The places of the line.
    pub(super) points: Vec<(f64, f64)>,
    /// The places that have the store's shape.
    pub(super) marks: Vec<(f64, f64)>,
    /// The number below the name.
    pub(super) value: String,
    /// The numbers for a screen reader and a pointer.
    pub(super) says: String,
}

pub(super) const WIDTH: f64 = 400.0;
pub(super) const HEIGHT: f64 = 286.0;
/// Where the lines are.
pub(super) const ACROSS: [f64; 2] = [52.0, 300.0];
/// From the bottom up.
pub(super) const UP: [f64; 2] = [HEIGHT - 28.0, 10.0];

/// From one label to the next: a name and a number.
const LABEL: f64 = 29.0;
const NAME_MAX: usize = 12;

/// The figure of some curves, with labelled lines across and up.
pub(super) fn figure(
    title: &str,
    curves: &[Curve<'_>],
    across: &[(f64, String)],
    up: (&Scale, fn(f64) -> String),
) -> Markup {
    let body = html! {
        @for tick in up.0.ticks() { (grid_line(&tick, up.1)) }
        @for (x, words) in across {
            (svg::line("gr", (*x, UP[1]), (*x, UP[0])))
            (svg::text("tk", (*x, UP[0] + 18.0), Anchor::Middle, words))
        }
        @for curve in curves { (line(curve)) }
        (labels(curves))
    };
    let says: Vec<&str> = curves.iter().map(|curve| curve.says.as_str()).collect();
    svg::figure(
        (WIDTH, HEIGHT),
        &format!("{title}. {}.", says.join(". ")),
        &body,
    )
}

fn grid_line(tick: &Tick, words: fn(f64) -> String) -> Markup {
    let class = if tick.is_labelled { "gr" } else { "gr2" };
    html! {
        (svg::line(class, (ACROSS[0], tick.place), (ACROSS[1], tick.place)))
        @if tick.is_labelled {
            (svg::text("tk", (ACROSS[0] - 6.0, tick.place + 4.0), Anchor::End, &words(tick.value)))
        }
    }
}

fn line(curve: &Curve<'_>) -> Markup {
    let class = format!("cv {}", curve.series.class());
    html! {
        (svg::path(&class, &curve.points, Some(&curve.says)))
        @for (x, y) in &curve.marks { (curve.series.mark(*x, *y, 3.6)) }
    }
}

/// The names at the right, moved apart where lines end close to each other.
fn labels(curves: &[Curve<'_>]) -> Markup {
    let mut ends: Vec<(f64, &Curve<'_>)> = (curves.iter())
        .filter_map(|curve| Some((curve.points.last()?.1, curve)))
        .collect();
    ends.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let wanted: Vec<f64> = ends.iter().map(|(y, _)| *y).collect();
    let placed = apart(&wanted, LABEL, UP[1] + 4.0, UP[0] - 8.0);
    html! {
        @for (y, (_, curve)) in placed.into_iter().zip(ends) {
            @let class = format!("lb {}", curve.series.class());
            (svg::text(&class, (ACROSS[1] + 9.0, y), Anchor::Start, &curve.series.short(NAME_MAX)))
            (svg::text("vl", (ACROSS[1] + 9.0, y + 13.0), Anchor::Start, &curve.value))
        }
    }
}

/// Moves sorted places apart: at least `gap` between two, and none beyond `top` and `bottom` while there is room.
fn apart(wanted: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut places = wanted.to_vec();
    let mut least = top;
    for place in &mut places {
        *place = place.max(least);
        least = *place + gap;
    }
    let mut most = bottom;
    for place in places.iter_mut().rev() {
        *place = place.min(most);
        most = *place - gap;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_overlap_and_stay_near() {
        let placed = apart(&[50.0, 52.0, 53.0, 190.0], 20.0, 0.0, 200.0);
        assert_eq!(placed, [50.0, 70.0, 90.0, 190.0]);
        let placed = apart(&[190.0, 195.0, 199.0], 20.0, 0.0, 200.0);
        assert_eq!(placed, [160.0, 180.0, 200.0]);
    }
}
