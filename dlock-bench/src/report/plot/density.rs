//! The density of a histogram along an axis.

use super::scale::Scale;
use crate::{data::Latency, report::format};

/// How dense the durations are at each place of an axis.
#[derive(Clone, Debug)]
pub(super) struct Density {
    points: Vec<(f64, f64)>,
}

/// A density as it is drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct Ridge {
    pub(super) points: Vec<(f64, f64)>,
    /// From where to where it is high; a label has no room there.
    pub(super) peak: Option<[f64; 2]>,
}

/// From one point of the outline to the next, in the figure's units.
const STEP: f64 = 3.0;
/// The least width of the kernel that smooths the buckets.
const KERNEL_MIN: f64 = 4.0;
/// From the begin of a bucket to its end.
const BUCKET: f64 = 1.1;
/// Below this part of the peak the outline ends.
const LOWEST: f64 = 0.006;
/// Above this part of the peak a label would be in the way.
const HIGH: f64 = 0.15;

impl Density {
    /// The density of `latency`; empty without durations on the axis.
    pub(super) fn of(latency: &Latency, scale: &Scale) -> Self {
        let on_axis = |nanos: &f64| (scale.low()..=scale.high()).contains(nanos);
        let buckets: Vec<(f64, f64)> = (latency.histogram.iter())
            .map(|bucket| {
                (
                    format::float(bucket.at_most_ns) / BUCKET.sqrt(),
                    format::float(bucket.count),
                )
            })
            .filter(|(nanos, _)| on_axis(nanos))
            .map(|(nanos, count)| (scale.place(nanos), count))
            .collect();
        let kernel = KERNEL_MIN.max(scale.place(scale.low() * BUCKET) - scale.place(scale.low()));
        let [start, end] = [scale.place(scale.low()), scale.place(scale.high())];
        let places = std::iter::successors(Some(start), |place| Some(place + STEP));
        let points = places
            .take_while(|place| *place <= end)
            .map(|place| (place, kernel_sum(&buckets, place, kernel)));
        Self {
            points: points.collect(),
        }
    }

    /// The outline over a baseline, its peak as high as `height`.
    pub(super) fn outline(&self, baseline: f64, height: f64) -> Ridge {
        let peak = self
            .points
            .iter()
            .fold(0.0, |peak: f64, (_, y)| peak.max(*y));
        if peak <= 0.0 {
            return Ridge::default();
        }
        let parts = self.points.iter().map(|(x, y)| (*x, y / peak));
        let drawn: Vec<(f64, f64)> = parts.collect();
        let above = |part: f64| {
            let high = drawn.iter().filter(move |(_, y)| *y > part);
            high.map(|(x, _)| *x)
        };
        let ends = |part| Some([above(part).next()?, above(part).next_back()?]);
        let [start, end] = ends(LOWEST).unwrap_or_default();
        let visible = drawn
            .iter()
            .filter(|(x, _)| (start..=end).contains(x))
            .map(|(x, y)| (*x, baseline - y * height));
        Ridge {
            points: visible.collect(),
            peak: ends(HIGH),
        }
    }
}

impl Ridge {
    /// The outline as an area that ends at its baseline.
    pub(super) fn closed(&self, baseline: f64) -> Vec<(f64, f64)> {
        let ends = [self.points.last(), self.points.first()];
        let down = ends.into_iter().flatten().map(|(x, _)| (*x, baseline));
        self.points.iter().copied().chain(down).collect()
    }
}

fn kernel_sum(buckets: &[(f64, f64)], place: f64, kernel: f64) -> f64 {
    let near = buckets
        .iter()
        .filter(|(x, _)| (x - place).abs() < 4.0 * kernel);
    near.map(|(x, count)| count * (-((x - place) / kernel).powi(2) / 2.0).exp())
        .sum()
}
