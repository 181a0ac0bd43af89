//! Rate by number of tasks, under the roof that theory sets: what lies above it is grey.

use maud::{Markup, html};

use super::{
    scale::{Range, Scale},
    series::Series,
    svg::{self, Anchor, At},
};
use crate::{data::Interval, report::format};

/// A store's rates.
#[derive(Clone, Debug)]
pub(in crate::report) struct Roofline<'a> {
    pub(in crate::report) series: Series<'a>,
    /// By the number of tasks, upwards.
    pub(in crate::report) points: Vec<Point>,
    pub(in crate::report) roof: Option<Roof>,
}

/// The rate at one number of tasks.
#[derive(Clone, Copy, Debug)]
pub(in crate::report) struct Point {
    pub(in crate::report) tasks: f64,
    pub(in crate::report) dlock: Interval,
    /// The driver alone.
    pub(in crate::report) floor: Option<f64>,
}

/// The rates that are out of reach.
#[derive(Clone, Debug)]
pub(in crate::report) struct Roof {
    /// One task is no faster than this, and several tasks that many times as fast.
    pub(in crate::report) one_task: f64,
    /// The exchange that a task waits for, in words.
    pub(in crate::report) waits_for: String,
    /// The rate at which the scarcest resource is used up, and the resource.
    pub(in crate::report) ceiling: Option<(f64, &'static str)>,
}

const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 190.0;
const ACROSS: [f64; 2] = [48.0, WIDTH - 6.0];
const UP: [f64; 2] = [HEIGHT - 26.0, 8.0];
/// A slope that is drawn shorter than this has no room for words.
const WORDS_MIN: f64 = 90.0;

/// The figure; `None` if there is nothing to show.
pub(in crate::report) fn figure(line: &Roofline<'_>) -> Option<Markup> {
    let tasks = Range::of(line.points.iter().map(|point| point.tasks))?;
    let across = Scale::log(tasks.spread(1.25, 1.25), ACROSS);
    let roof = line.roof.as_ref();
    let values = line.points.iter().flat_map(|point| {
        let roof = roof.map_or(point.dlock.value, |roof| roof.at(point.tasks));
        [point.dlock.value, point.floor.unwrap_or(roof), roof]
    });
    let up = Scale::log(Range::of(values)?.spread(1.7, 1.8), UP);
    let place = |tasks: f64, rate: f64| (across.place(tasks), up.place(rate));
    let body = html! {
        (grid(&up))
        @for point in &line.points {
            (svg::text("tk", (across.place(point.tasks), HEIGHT - 8.0), Anchor::Middle, &format::axis_count(point.tasks)))
        }
        @if let Some(roof) = roof { (region(roof, &across, &place)) }
        (floor(line, &place))
        (dlock(line, &place))
    };
    Some(svg::figure((WIDTH, HEIGHT), &says(line), &body))
}

fn grid(up: &Scale) -> Markup {
    html! {
        @for tick in up.ticks() {
            @let class = if tick.is_labelled { "gr" } else { "gr2" };
            (svg::line(class, (ACROSS[0], tick.place), (ACROSS[1], tick.place)))
            @if tick.is_labelled {
                (svg::text("tk", (ACROSS[0] - 5.0, tick.place + 4.0), Anchor::End, &format::axis_count(tick.value)))
            }
        }
    }
}

/// The grey region, its edge, and what limits the rate there.
fn region(roof: &Roof, across: &Scale, place: &impl Fn(f64, f64) -> (f64, f64)) -> Markup {
    let (low, high) = (across.low(), across.high());
    let ceiling = roof.ceiling.map_or(f64::INFINITY, |(rate, _)| rate);
    let bend = (ceiling / roof.one_task).clamp(low, high);
    let edge = [low, bend, high].map(|tasks| place(tasks, roof.at(tasks)));
    let corners = edge
        .into_iter()
        .chain([(ACROSS[1], UP[1]), (ACROSS[0], UP[1])]);
    let corners: Vec<_> = corners.collect();
    html! {
        (svg::area("no", &corners, Some("out of reach")))
        (svg::path("rf", &edge, None))
        (slope_words(&roof.waits_for, edge[0], edge[1]))
        @if let (Some((_, words)), true) = (roof.ceiling, edge[2].0 - edge[1].0 > 30.0) {
            (svg::text("rt", (ACROSS[1] - 4.0, edge[2].1 - 6.0), Anchor::End, words))
        }
    }
}

/// The words along the slope.
fn slope_words(words: &str, from: (f64, f64), to: (f64, f64)) -> Markup {
    let (across, up) = (to.0 - from.0, to.1 - from.1);
    let length = across.hypot(up);
    let angle = up.atan2(across).to_degrees();
    // In the middle, a little above the line; up to the bend if the words are long.
    let inset = ((length - svg::width(words)) / 2.0).max(4.0);
    let (right, down) = (across / length.max(1.0), up / length.max(1.0));
    let x = to.0 - inset * right + 6.0 * down;
    let y = to.1 - inset * down - 6.0 * right;
    html! {
        @if length >= WORDS_MIN {
            text class="rt" x=(At(x)) y=(At(y)) text-anchor="end"
                transform={ "rotate(" (At(angle)) " " (At(x)) " " (At(y)) ")" } { (words) }
        }
    }
}

fn floor(line: &Roofline<'_>, place: &impl Fn(f64, f64) -> (f64, f64)) -> Markup {
    let rates = line.points.iter();
    let points = rates.filter_map(|point| Some(place(point.tasks, point.floor?)));
    let points: Vec<_> = points.collect();
    html! {
        (svg::path("flo", &points, Some("the driver alone")))
        @for (x, y) in &points { circle class="fm" cx=(At(*x)) cy=(At(*y)) r="3.2" {} }
    }
}

fn dlock(line: &Roofline<'_>, place: &impl Fn(f64, f64) -> (f64, f64)) -> Markup {
    let class = line.series.class();
    let points = line
        .points
        .iter()
        .map(|point| place(point.tasks, point.dlock.value));
    let points: Vec<_> = points.collect();
    html! {
        (svg::path(&format!("cv {class}"), &points, None))
        @for (point, (x, y)) in line.points.iter().zip(&points) {
            @let whisker = [point.dlock.low, point.dlock.high].map(|rate| place(point.tasks, rate));
            (svg::line(&format!("wh {class}"), whisker[0], whisker[1]))
            g { title { (point_says(point)) } (line.series.mark(*x, *y, 4.2)) }
        }
        @if let Some((point, (x, y))) = line.points.last().zip(points.last()) {
            (svg::text(&format!("lb {class}"), (*x, y + 18.0), Anchor::End, &format::axis_count(point.dlock.value)))
        }
    }
}

fn point_says(point: &Point) -> String {
    let Interval { value, low, high } = point.dlock;
    let [value, low, high] = [value, low, high].map(format::rate);
    let floor = point.floor.map_or_else(String::new, |rate| {
        format!(", the driver alone {}", format::rate(rate))
    });
    let tasks = format::plural(
        usize::try_from(format::whole(point.tasks)).unwrap_or(usize::MAX),
        "task",
    );
    format!("{tasks}: {value} a second ({low} to {high}){floor}")
}

fn says(line: &Roofline<'_>) -> String {
    let points: Vec<String> = line.points.iter().map(point_says).collect();
    format!(
        "Locks a second of {} by the number of tasks. {}.",
        line.series.name,
        points.join(". ")
    )
}

impl Roof {
    /// The highest rate at that number of tasks.
    fn at(&self, tasks: f64) -> f64 {
        let ceiling = self.ceiling.map_or(f64::INFINITY, |(rate, _)| rate);
        (self.one_task * tasks).min(ceiling)
    }
}
