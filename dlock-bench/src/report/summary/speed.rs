//! The sentence about speed.

use super::tile::{Tile, names};
use crate::{
    data::{Cycles, Workload},
    report::{
        format,
        shown::{Shown, ShownStore},
    },
};

/// The highest rate; stores whose difference to it is noise share the place.
pub(super) fn fastest(shown: &Shown<'_>) -> Option<Tile> {
    let tasks = shown.most_tasks().unwrap_or(1);
    let ranked = ranked(shown, tasks, |cycles| Some(-cycles.dlock.per_second.value));
    let (first, cycles) = *ranked.first()?;
    let (equal, times) = leaders(shown, tasks, &ranked);
    let about = if first.is_shared() && shown.stores.iter().any(|store| !store.is_shared()) {
        "Fastest between machines"
    } else {
        "Fastest"
    };
    let rate = format::rate(cycles.dlock.per_second.value);
    let tasks = format::plural(tasks as usize, "task");
    let one = first.cycles(1).map_or_else(String::new, |cycles| {
        let latency = &cycles.dlock.latency;
        let [median, n] = [
            format::time(format::float(latency.p50_ns)),
            format::count(latency.count),
        ];
        format!(" One lock takes {median} (n\u{a0}=\u{a0}{n}).")
    });
    let noise = format::percent(shown.run.noise.same_twice);
    let compared = match times {
        _ if equal.len() > 1 => format!("; no difference beyond the noise of {noise}"),
        Some(times) => format!(", {times}"),
        None => String::new(),
    };
    Some(Tile::new(
        about,
        names(&equal),
        format!("{rate} locks a second with {tasks}{compared}.{one}"),
    ))
}

/// The stores that share the first place, and how many times as fast they are as the next one.
fn leaders<'a>(
    shown: &Shown<'_>,
    tasks: u32,
    ranked: &[(&'a ShownStore<'a>, &Cycles)],
) -> (Vec<&'a ShownStore<'a>>, Option<String>) {
    let mut equal: Vec<&ShownStore<'_>> = Vec::new();
    for pair in ranked.windows(2) {
        let [(faster, _), (slower, _)] = pair else {
            break;
        };
        equal.push(faster);
        let comparison = shown.run.comparisons.iter().find(|comparison| {
            comparison.workload == Workload::Cycle
                && comparison.tasks == tasks
                && comparison.faster == faster.data.label
                && comparison.slower == slower.data.label
        });
        if let Some(comparison) = comparison {
            let times = comparison.times;
            let half = (times.high - times.low) / 2.0;
            let than = shown
                .name_of(&comparison.slower)
                .unwrap_or(&comparison.slower);
            let [value, half] = [times.value, half].map(|number| format::fixed(number, 1));
            let words = format!("{value} ± {half} times as many as {than}");
            return (equal, Some(words));
        }
    }
    equal.extend(ranked.last().map(|(store, _)| *store));
    (equal, None)
}

/// On a noisy machine processor time is compared instead.
pub(super) fn cheapest(shown: &Shown<'_>) -> Option<Tile> {
    let tasks = shown.most_tasks().unwrap_or(1);
    let ranked = ranked(shown, tasks, |cycles| cycles.dlock.server_cpu_ns);
    let (_, cycles) = *ranked.first()?;
    let cpu = format::time(cycles.dlock.server_cpu_ns?);
    let times = cycles
        .server_cpu_of_floor
        .map_or_else(String::new, |times| {
            format!(", {} times the driver's own", format::ratio(times.value))
        });
    let text = format!(
        "{cpu} of the server's processor for a lock{times}. Rates are not compared: the machine was noisy."
    );
    let bound = cycles.dlock.server_cpu_ns? * (1.0 + shown.run.noise.same_twice.max(0.0));
    let equal = ranked
        .iter()
        .filter(|(_, cycles)| cycles.dlock.server_cpu_ns.is_some_and(|cpu| cpu <= bound));
    let equal: Vec<&ShownStore<'_>> = equal.map(|(store, _)| *store).collect();
    Some(Tile::new("Least work for the server", names(&equal), text))
}

/// Stores with cycles of that many tasks by `key`, the least first. Stores of one machine only come last.
fn ranked<'a>(
    shown: &'a Shown<'a>,
    tasks: u32,
    key: impl Fn(&Cycles) -> Option<f64>,
) -> Vec<(&'a ShownStore<'a>, &'a Cycles)> {
    let found = shown.stores.iter().filter_map(|store| {
        let cycles = store.cycles(tasks)?;
        Some((key(cycles)?, store, cycles))
    });
    let mut found: Vec<_> = found.collect();
    if found.iter().any(|(_, store, _)| store.is_shared()) {
        found.retain(|(_, store, _)| store.is_shared());
    }
    found.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
    found
        .into_iter()
        .map(|(_, store, cycles)| (store, cycles))
        .collect()
}
