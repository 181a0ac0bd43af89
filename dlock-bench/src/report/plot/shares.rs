//! How evenly something was shared: a bar for each store, cut into parts.

use maud::{Markup, html};

use super::{
    rows::{self, ACROSS, WIDTH},
    series::Series,
    svg,
};
use crate::report::format;

/// A store's bar.
#[derive(Clone, Debug)]
pub(in crate::report) struct Shares<'a> {
    pub(in crate::report) series: Series<'a>,
    /// The parts, in any unit.
    pub(in crate::report) parts: Vec<u64>,
    /// The number at the right, and the one below it.
    pub(in crate::report) numbers: [String; 2],
}

const STEP: f64 = 42.0;
const HEIGHT: f64 = 20.0;
/// Between two parts.
const GAP: f64 = 1.5;
/// The lightest part is this opaque.
const LIGHTEST: f64 = 0.35;

/// The figure; `None` if there is nothing to show.
pub(in crate::report) fn figure(title: &str, stores: &[Shares<'_>]) -> Option<Markup> {
    if stores.is_empty() {
        return None;
    }
    let body = html! {
        @for (middle, store) in rows::middles(stores.len(), STEP).zip(stores) {
            (rows::name(&store.series, middle))
            (bar(middle, store))
            (rows::number("vl b", middle - 7.0, &store.numbers[0]))
            (rows::number("vl", middle + 7.0, &store.numbers[1]))
        }
    };
    let says: Vec<String> = stores.iter().map(says).collect();
    let says = format!("{title}. {}.", says.join(". "));
    let bottom = rows::bottom(stores.len(), STEP);
    Some(svg::figure((WIDTH, bottom), &says, &body))
}

/// The parts from the largest to the smallest, ever lighter.
fn bar(middle: f64, store: &Shares<'_>) -> Markup {
    let mut parts = store.parts.clone();
    parts.sort_unstable_by(|a, b| b.cmp(a));
    let total = format::float(parts.iter().sum::<u64>().max(1));
    let number = format::float(parts.len() as u64);
    let class = format!("sg {}", store.series.class());
    let mut x = ACROSS[0];
    let drawn = parts.iter().zip(0_u32..).map(|(part, place)| {
        let width = format::float(*part) / total * (ACROSS[1] - ACROSS[0]);
        let opacity = 1.0 - (1.0 - LIGHTEST) * f64::from(place) / (number - 1.0).max(1.0);
        let from = x;
        x += width;
        (
            from,
            (width - GAP).max(0.0),
            opacity,
            format::percent(format::float(*part) / total),
        )
    });
    let drawn: Vec<_> = drawn.collect();
    html! {
        @for (x, width, opacity, share) in &drawn {
            g fill-opacity={ (format!("{opacity:.2}")) } {
                title { (share) }
                (svg::rect(&class, (*x, middle - HEIGHT / 2.0), (*width, HEIGHT)))
            }
        }
    }
}

fn says(store: &Shares<'_>) -> String {
    let parts = store.parts.iter().map(|part| format::count(*part));
    let parts: Vec<String> = parts.collect();
    let [first, second] = &store.numbers;
    format!(
        "{}: {}; {first}, {second}",
        store.series.name,
        parts.join(", ")
    )
}
