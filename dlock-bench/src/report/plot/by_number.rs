//! A price by a number of things, on two logarithmic axes.

use std::cmp::Reverse;

use maud::Markup;

use super::{
    curves::{self, ACROSS, Curve, UP},
    scale::{Range, Scale},
    series::Series,
};
use crate::report::format;

/// From one label of the lower axis to the next.
const LABEL: f64 = 30.0;

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
    let numbers: Vec<f64> = points().map(|(number, _)| number).collect();
    let labels = labelled(numbers, &across)
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

/// The numbers with a label. Of those that are close to each other it is the one that most stores have.
fn labelled(mut numbers: Vec<f64>, across: &Scale) -> Vec<f64> {
    numbers.sort_by(f64::total_cmp);
    let mut groups: Vec<&[f64]> = numbers.chunk_by(|one, other| one == other).collect();
    groups.sort_by_key(|group| Reverse(group.len()));
    let mut labelled: Vec<f64> = Vec::new();
    for group in groups {
        let is_free = |other: &f64| (across.place(*other) - across.place(group[0])).abs() >= LABEL;
        if labelled.iter().all(is_free) {
            labelled.push(group[0]);
        }
    }
    labelled
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_overlap() {
        let across = Scale::log(Range::of([1.0, 1e4]).expect("values"), ACROSS);
        // One store has a bound of 64.
        let numbers = vec![
            1.0, 10.0, 64.0, 1.0, 10.0, 100.0, 1e4, 1.0, 10.0, 100.0, 1e4,
        ];
        let mut labels = labelled(numbers, &across);
        labels.sort_by(f64::total_cmp);
        assert_eq!(labels, [1.0, 10.0, 100.0, 1e4]);
    }
}
