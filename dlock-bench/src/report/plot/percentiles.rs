//! Durations by percentile: each step to the right is ten times as rare.

use maud::Markup;

use super::{
    curves::{self, ACROSS, Curve, UP},
    scale::{Range, Scale},
    series::Series,
};
use crate::{data::Latency, report::format};

/// A store's durations.
#[derive(Clone, Copy, Debug)]
pub(in crate::report) struct Line<'a> {
    pub(in crate::report) series: Series<'a>,
    pub(in crate::report) latency: &'a Latency,
}

/// The percentiles that are labelled, as "one in so many is slower".
const LABELS: [(f64, &str); 5] = [
    (2.0, "50 %"),
    (10.0, "90 %"),
    (100.0, "99 %"),
    (1e3, "99.9 %"),
    (1e4, "99.99 %"),
];
/// The percentiles with a mark in the store's shape.
const MARKED: [f64; 3] = [2.0, 100.0, 1e3];

/// The figure; `None` if there is nothing to show.
pub(in crate::report) fn figure(title: &str, lines: &[Line<'_>]) -> Option<Markup> {
    let steps = lines.iter().map(|line| Steps::of(line.latency));
    let steps: Vec<Steps> = steps.collect();
    let rarest = steps.iter().map(Steps::rarest).fold(100.0, f64::max);
    let across = Scale::log(Range::of([1.0, rarest.min(1e4)])?, ACROSS);
    let values = lines.iter().zip(&steps).flat_map(|(line, steps)| {
        let end = steps.at(rarest.min(1e4));
        [line.latency.p50_ns, end]
    });
    let up = Scale::log(Range::of(values.map(format::float))?.spread(1.6, 1.3), UP);
    let curves: Vec<Curve<'_>> = (lines.iter().zip(&steps))
        .map(|(line, steps)| curve(line, steps, &across, &up))
        .collect();
    let labels = LABELS
        .into_iter()
        .filter(|(rare, _)| *rare <= across.high() * 1.01)
        .map(|(rare, words)| (across.place(rare), words.to_owned()));
    let labels: Vec<_> = labels.collect();
    Some(curves::figure(
        title,
        &curves,
        &labels,
        (&up, format::plain_time),
    ))
}

fn curve<'a>(line: &Line<'a>, steps: &Steps, across: &Scale, up: &Scale) -> Curve<'a> {
    let points = steps.until(across.high()).iter();
    let points = points.map(|(rare, nanos)| (across.place(*rare), up.place(format::float(*nanos))));
    let marked = MARKED.into_iter().filter(|rare| *rare <= steps.rarest());
    let marks = marked.map(|rare| (across.place(rare), up.place(format::float(steps.at(rare)))));
    let [median, p99, p999] = [
        line.latency.p50_ns,
        line.latency.p99_ns,
        line.latency.p999_ns,
    ]
    .map(|nanos| format::time(format::float(nanos)));
    Curve {
        series: line.series,
        points: points.collect(),
        marks: marks.collect(),
        value: format::time(format::float(steps.at(across.high()))),
        says: format!(
            "{}: median {median}, p99 {p99}, p99.9 {p999}",
            line.series.name
        ),
    }
}

/// A histogram as steps, the rarest last: one in `.0` durations is longer than `.1` nanoseconds.
#[derive(Debug)]
struct Steps {
    points: Vec<(f64, u64)>,
}

impl Steps {
    fn of(latency: &Latency) -> Self {
        let total: u64 = latency.histogram.iter().map(|bucket| bucket.count).sum();
        let mut left = total;
        let points = latency.histogram.iter().map(|bucket| {
            left = left.saturating_sub(bucket.count);
            // Of the slowest nothing is left; half of one is as near as it gets.
            let part = format::float(left).max(0.5) / format::float(total).max(1.0);
            (1.0 / part, bucket.at_most_ns)
        });
        Self {
            points: points.collect(),
        }
    }

    /// One in how many is the rarest duration that was seen.
    fn rarest(&self) -> f64 {
        self.points.last().map_or(1.0, |(rare, _)| *rare)
    }

    /// The steps up to the first one that is as rare as this.
    fn until(&self, rare: f64) -> &[(f64, u64)] {
        let before = |(step, _): &(f64, u64)| *step < rare * 0.9999;
        let count = self.points.partition_point(before) + 1;
        &self.points[..count.min(self.points.len())]
    }

    /// The duration that one in `rare` exceeds.
    fn at(&self, rare: f64) -> u64 {
        self.until(rare).last().map_or(0, |(_, nanos)| *nanos)
    }
}
