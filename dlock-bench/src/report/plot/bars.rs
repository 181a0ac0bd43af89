//! A bar of two parts for each store, and below it a thin one to compare it with.

use maud::{Markup, html};

use super::{
    rows::{self, ACROSS, WIDTH},
    scale::Scale,
    series::Series,
    svg,
};
use crate::report::format;

/// A store's bars, in nanoseconds.
#[derive(Clone, Debug)]
pub(in crate::report) struct Bars<'a> {
    pub(in crate::report) series: Series<'a>,
    /// The parts of the bar: this process, and the server if that is known.
    pub(in crate::report) dlock: [Option<f64>; 2],
    /// The parts of the thin bar: the driver alone.
    pub(in crate::report) floor: [Option<f64>; 2],
    /// The number at the right, below the sum.
    pub(in crate::report) number: String,
}

const STEP: f64 = 42.0;
const HEIGHT: f64 = 14.0;
const THIN: f64 = 6.0;

/// The figure; `None` if there is nothing to show.
pub(in crate::report) fn figure(title: &str, stores: &[Bars<'_>]) -> Option<Markup> {
    let sums = stores
        .iter()
        .flat_map(|store| [sum(store.dlock), sum(store.floor)]);
    let highest = sums.fold(0.0, f64::max);
    if highest <= 0.0 {
        return None;
    }
    let scale = Scale::from_zero(highest, ACROSS);
    let bottom = rows::bottom(stores.len(), STEP);
    let body = html! {
        (rows::axis(&scale, bottom, format::plain_time))
        @for (middle, store) in rows::middles(stores.len(), STEP).zip(stores) { (row(&scale, middle, store)) }
    };
    let says: Vec<String> = stores.iter().map(says).collect();
    let says = format!("{title}. {}.", says.join(". "));
    Some(svg::figure((WIDTH, bottom + rows::AXIS), &says, &body))
}

fn row(scale: &Scale, middle: f64, store: &Bars<'_>) -> Markup {
    let top = middle - HEIGHT + 2.0;
    let own = format!("sg {}", store.series.class());
    html! {
        (rows::name(&store.series, middle))
        g { title { (says(store)) }
            (bar(scale, store.dlock, &own, top, HEIGHT))
            (bar(scale, store.floor, "fb", top + HEIGHT + 2.0, THIN))
        }
        (rows::number("vl b", middle - 7.0, &format::time(sum(store.dlock))))
        (rows::number("vl", middle + 7.0, &store.number))
    }
}

/// One bar; its second part is lighter.
fn bar(
    scale: &Scale,
    [first, second]: [Option<f64>; 2],
    class: &str,
    top: f64,
    height: f64,
) -> Markup {
    let start = scale.place(0.0);
    let bend = scale.place(first.unwrap_or_default());
    let end = scale.place(sum([first, second]));
    html! {
        (svg::rect(class, (start, top), (bend - start, height)))
        @if second.is_some() {
            (svg::rect(&format!("{class} lt"), (bend + 1.0, top), ((end - bend - 1.0).max(0.0), height)))
        }
    }
}

fn sum(parts: [Option<f64>; 2]) -> f64 {
    let parts = parts.into_iter().flatten();
    parts.filter(|part| part.is_finite()).sum()
}

fn says(store: &Bars<'_>) -> String {
    let words = |[client, server]: [Option<f64>; 2]| {
        let [client, server] =
            [client, server].map(|part| part.map_or_else(|| "unknown".to_owned(), format::time));
        format!("client {client}, server {server}")
    };
    let (dlock, floor) = (words(store.dlock), words(store.floor));
    format!("{}: {dlock}; the driver alone: {floor}", store.series.name)
}
