//! Distributions below each other, on one logarithmic axis: one ridge for each store.

use maud::{Markup, html};

use super::{
    density::{Density, Ridge as Outline},
    scale::{Range, Scale, Tick},
    series::Series,
    svg::{self, Anchor},
};
use crate::{data::Latency, report::format};

/// A store's distribution.
#[derive(Clone, Debug)]
pub(in crate::report) struct Ridge<'a> {
    pub(in crate::report) series: Series<'a>,
    pub(in crate::report) latency: &'a Latency,
    /// The driver alone, as an outline.
    pub(in crate::report) floor: Option<&'a Latency>,
    /// The least time that is possible, with its reason in words.
    pub(in crate::report) limit: Option<(f64, String)>,
}

const WIDTH: f64 = 400.0;
/// From one baseline to the next.
const STEP: f64 = 52.0;
const HEIGHT_MAX: f64 = 38.0;
const TOP: f64 = 8.0;
/// Below the last baseline: the limit's mark and the axis.
const BOTTOM: f64 = 30.0;
const SIDES: [f64; 2] = [6.0, WIDTH - 6.0];

/// The figure; `None` if there is nothing to show.
pub(in crate::report) fn figure(title: &str, ridges: &[Ridge<'_>]) -> Option<Markup> {
    let scale = scale(ridges)?;
    let baselines = (1..=ridges.len()).map(|number| {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        TOP + f64::from(number) * STEP - 8.0
    });
    let rows: Vec<_> = baselines.zip(ridges).collect();
    let bottom = rows.last().map_or(TOP, |(baseline, _)| *baseline);
    let body = html! {
        (grid(&scale.ticks(), bottom))
        @for (baseline, ridge) in &rows { (row(&scale, *baseline, ridge)) }
    };
    let says: Vec<String> = ridges.iter().map(says).collect();
    let says = format!("{title}. {}.", says.join(". "));
    Some(svg::figure((WIDTH, bottom + BOTTOM), &says, &body))
}

/// From the fastest of all to the slowest 99th percentile.
fn scale(ridges: &[Ridge<'_>]) -> Option<Scale> {
    let latencies = ridges
        .iter()
        .flat_map(|ridge| [Some(ridge.latency), ridge.floor])
        .flatten();
    let ends = latencies.flat_map(|latency| {
        let first = latency
            .histogram
            .first()
            .map_or(0, |bucket| bucket.at_most_ns);
        [first, latency.p50_ns, latency.p99_ns]
    });
    let limits = ridges.iter().filter_map(|ridge| ridge.limit.as_ref());
    let values = ends
        .map(format::float)
        .chain(limits.map(|(limit, _)| *limit));
    Some(Scale::log(Range::of(values)?.spread(1.25, 1.4), SIDES))
}

fn grid(ticks: &[Tick], bottom: f64) -> Markup {
    html! {
        @for tick in ticks {
            @let class = if tick.is_labelled { "gr" } else { "gr2" };
            (svg::line(class, (tick.place, TOP), (tick.place, bottom)))
            @if tick.is_labelled && (24.0..WIDTH - 24.0).contains(&tick.place) {
                @let words = format::plain_time(tick.value);
                (svg::text("tk", (tick.place, bottom + 24.0), Anchor::Middle, &words))
            }
        }
    }
}

fn row(scale: &Scale, baseline: f64, ridge: &Ridge<'_>) -> Markup {
    let class = ridge.series.class();
    let of = |latency| Density::of(latency, scale).outline(baseline, HEIGHT_MAX);
    let main: Outline = of(ridge.latency);
    let floor = ridge.floor.map(of).unwrap_or_default();
    let p99 = scale.place(format::float(ridge.latency.p99_ns));
    html! {
        (svg::line("bl", (SIDES[0], baseline), (SIDES[1], baseline)))
        (svg::area(&format!("fill {class}"), &main.closed(baseline), Some(&says(ridge))))
        @if !floor.points.is_empty() { (svg::path("flo", &floor.points, Some("the driver alone"))) }
        @if ridge.latency.count > 0 {
            (svg::line(&format!("pq {class}"), (p99, baseline - 4.0), (p99, baseline + 5.0)))
        }
        @if let Some((limit, reason)) = &ridge.limit {
            (limit_mark(scale.place(*limit), baseline, &format!("no faster than {reason}: {}", format::time(*limit))))
        }
        (label(ridge, baseline, [main.peak, floor.peak]))
    }
}

fn limit_mark(x: f64, baseline: f64, title: &str) -> Markup {
    let corners = [
        (x, baseline + 1.0),
        (x - 4.0, baseline + 8.0),
        (x + 4.0, baseline + 8.0),
    ];
    svg::area("lim", &corners, Some(title))
}

/// Name and numbers, on the side of the peak that has more room.
fn label(ridge: &Ridge<'_>, baseline: f64, peaks: [Option<[f64; 2]>; 2]) -> Markup {
    let name = ridge.series.short(24);
    let numbers = numbers(ridge.latency);
    let peaks = peaks.into_iter().flatten();
    let [low, high] = peaks.fold([WIDTH, 0.0], |[low, high], [from, to]| {
        [from.min(low), to.max(high)]
    });
    let needed = svg::width(&name).max(svg::width(&numbers));
    let room = WIDTH - high;
    let (x, anchor) = if room >= needed + 8.0 || room >= low {
        ((high + 8.0).min(WIDTH - needed), Anchor::Start)
    } else {
        ((low - 8.0).max(needed), Anchor::End)
    };
    let class = format!("lb {}", ridge.series.class());
    html! {
        (svg::text(&class, (x, baseline - 22.0), anchor, &name))
        (svg::text("vl", (x, baseline - 8.5), anchor, &numbers))
    }
}

fn numbers(latency: &Latency) -> String {
    if latency.count == 0 {
        return "no measurement".to_owned();
    }
    let [median, p99] =
        [latency.p50_ns, latency.p99_ns].map(|nanos| format::time(format::float(nanos)));
    format!("{median} · p99 {p99}")
}

fn says(ridge: &Ridge<'_>) -> String {
    let floor = ridge.floor.map_or_else(String::new, |floor| {
        format!("; the driver alone {}", numbers(floor))
    });
    format!(
        "{}: median {}{floor}",
        ridge.series.name,
        numbers(ridge.latency)
    )
}
