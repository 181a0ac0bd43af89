//! Each measurement as a dot: two lanes for each store, a full dot and an empty one.

use maud::{Markup, html};

use super::{
    rows::{self, ACROSS, WIDTH},
    scale::Scale,
    series::Series,
    svg::{self, Anchor, At},
};
use crate::report::format;

/// A store's measurements, in nanoseconds.
#[derive(Clone, Debug)]
pub(in crate::report) struct Dots<'a> {
    pub(in crate::report) series: Series<'a>,
    /// Drawn as a dashed mark.
    pub(in crate::report) ttl: f64,
    /// The upper lane.
    pub(in crate::report) full: Lane,
    /// The lower lane.
    pub(in crate::report) empty: Lane,
}

/// The dots of a lane, or why there are none.
#[derive(Clone, Debug)]
pub(in crate::report) enum Lane {
    Measured { what: &'static str, times: Vec<f64> },
    Not(&'static str),
}

const STEP: f64 = 51.0;
/// From the middle of a row to its lanes.
const LANE: f64 = 12.5;
const RADIUS: f64 = 2.5;
/// Dots that would touch are moved up or down by these, in turn.
const SHIFTS: [f64; 5] = [0.0, 4.4, -4.4, 8.8, -8.8];

/// The figure; `None` if there is nothing to show.
pub(in crate::report) fn figure(title: &str, stores: &[Dots<'_>]) -> Option<Markup> {
    let lanes = stores.iter().flat_map(|store| [&store.full, &store.empty]);
    let highest = lanes.flat_map(Lane::times).copied().fold(0.0, f64::max);
    if highest <= 0.0 {
        return None;
    }
    let ttl = stores.iter().map(|store| store.ttl).fold(0.0, f64::max);
    let scale = Scale::from_zero(highest.max(ttl), ACROSS);
    let bottom = rows::bottom(stores.len(), STEP);
    let middles = rows::middles(stores.len(), STEP);
    let body = html! {
        (rows::axis(&scale, bottom, format::plain_time))
        @for (number, (middle, store)) in middles.zip(stores).enumerate() {
            (row(&scale, middle, store))
            @if number == 0 {
                (svg::text("rt", (scale.place(store.ttl) + 4.0, rows::TOP + 7.0), Anchor::Start, "ttl"))
            }
        }
    };
    let says: Vec<String> = stores.iter().map(says).collect();
    let says = format!("{title}. {}.", says.join(". "));
    Some(svg::figure((WIDTH, bottom + rows::AXIS), &says, &body))
}

fn row(scale: &Scale, middle: f64, store: &Dots<'_>) -> Markup {
    let ttl = scale.place(store.ttl);
    html! {
        (rows::name(&store.series, middle))
        (svg::line("ttl", (ttl, middle - STEP / 2.0), (ttl, middle + STEP / 2.0)))
        (lane(scale, middle - LANE, store, &store.full, "dt"))
        (lane(scale, middle + LANE, store, &store.empty, "dt hol"))
    }
}

fn lane(scale: &Scale, y: f64, store: &Dots<'_>, lane: &Lane, class: &str) -> Markup {
    let class = format!("{class} {}", store.series.class());
    html! {
        (svg::line("bl", (ACROSS[0], y), (ACROSS[1], y)))
        @match lane {
            Lane::Not(why) => (svg::text("rt", (ACROSS[0] + 5.0, y + 4.0), Anchor::Start, why)),
            Lane::Measured { .. } => {
                g class=(class) { title { (lane.says()) }
                    @for (x, shift) in placed(lane.times(), scale) {
                        circle cx=(At(x)) cy=(At(y + shift)) r=(RADIUS) {}
                    }
                }
                (rows::number(if lane.is_main() { "vl b" } else { "vl" }, y, &format::time(lane.median())))
            }
        }
    }
}

/// The places of the dots, moved apart where they would touch.
fn placed(times: &[f64], scale: &Scale) -> Vec<(f64, f64)> {
    let mut places: Vec<f64> = times.iter().map(|time| scale.place(*time)).collect();
    places.sort_by(f64::total_cmp);
    let mut dots: Vec<(f64, f64)> = Vec::with_capacity(places.len());
    for x in places {
        let is_free = |shift: &f64| {
            let near = |dot: &&(f64, f64)| (x - dot.0).hypot(shift - dot.1) < 1.7 * RADIUS;
            !dots
                .iter()
                .rev()
                .take(4 * SHIFTS.len())
                .any(|dot| near(&dot))
        };
        let shift = SHIFTS.into_iter().find(is_free).unwrap_or_default();
        dots.push((x, shift));
    }
    dots
}

fn says(store: &Dots<'_>) -> String {
    let lanes = [&store.full, &store.empty].map(Lane::says);
    format!("{}: {}", store.series.name, lanes.join("; "))
}

impl Lane {
    fn times(&self) -> &[f64] {
        match self {
            Self::Measured { times, .. } => times,
            Self::Not(_) => &[],
        }
    }

    /// Whether its number is the one that readers compare.
    fn is_main(&self) -> bool {
        matches!(self, Self::Measured { what: "killed", .. })
    }

    fn median(&self) -> f64 {
        format::median(self.times())
    }

    fn says(&self) -> String {
        match self {
            Self::Not(why) => (*why).to_owned(),
            Self::Measured { what, times } => {
                let [least, most] =
                    [f64::min, f64::max].map(|pick| times.iter().copied().reduce(pick));
                let [least, most] =
                    [least, most].map(|time| format::time(time.unwrap_or_default()));
                let (number, median) = (
                    format::plural(times.len(), "time"),
                    format::time(self.median()),
                );
                format!("{what} {number}: median {median}, {least} to {most}")
            }
        }
    }
}
