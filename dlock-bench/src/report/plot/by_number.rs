//! A price by a number of things, on two logarithmic axes.

use maud::Markup;

use super::{
    curves::{self, ACROSS, Curve, UP},
    scale::{Range, Scale},
    series::Series,
};
use crate::report::format;

/// A store's prices.
#[derive(Clone, Debug)]
pub(in crate::report) struct Prices<'a> {
    pub(in crate::report) series: Series<'a>,
    /// Number and price, upwards. A price of zero is drawn at the lower edge.
    pub(in crate::report) points: Vec<(f64, f64)>,
    /// The unit behind the last price, such as `/s`.
    pub(in crate::report) unit: &'static str,
}

/// The figure; `None` if there is nothing to show.
pub(in crate::report) fn figure(title: &str, stores: &[Prices<'_>]) -> Option<Markup> {
    let points = || stores.iter().flat_map(|store| store.points.iter().copied());
    let across = Scale::log(
        Range::of(points().map(|(number, _)| number))?.spread(1.0, 1.0),
        ACROSS,
    );
    let up = Scale::log(
        Range::of(points().map(|(_, price)| price))?.spread(2.0, 1.5),
        UP,
    );
    let curves = stores.iter().map(|store| curve(store, &across, &up));
    let mut numbers: Vec<f64> = points().map(|(number, _)| number).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    let labels = numbers
        .into_iter()
        .map(|number| (across.place(number), format::axis_count(number)));
    let labels: Vec<_> = labels.collect();
    let curves: Vec<_> = curves.collect();
    Some(curves::figure(
        title,
        &curves,
        &labels,
        (&up, format::axis_count),
    ))
}

fn curve<'a>(store: &Prices<'a>, across: &Scale, up: &Scale) -> Curve<'a> {
    let points = store.points.iter();
    let points: Vec<_> = points
        .map(|(number, price)| (across.place(*number), up.place(*price)))
        .collect();
    let words = |(number, price): &(f64, f64)| {
        format!(
            "{}: {}{}",
            format::axis_count(*number),
            format::rate(*price),
            store.unit
        )
    };
    let last = store.points.last().map_or(0.0, |(_, price)| *price);
    let says: Vec<String> = store.points.iter().map(words).collect();
    Curve {
        series: store.series,
        marks: points.clone(),
        points,
        value: format!("{}{}", format::rate(last), store.unit),
        says: format!("{}: {}", store.series.name, says.join(", ")),
    }
}
