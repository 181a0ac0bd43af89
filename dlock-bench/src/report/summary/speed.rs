//! The sentence about speed.

use super::tile::{Tile, names};
use crate::{
    data::{Cycles, Interval, Workload},
    report::{
        format,
        shown::{Shown, ShownStore},
    },
};

/// The highest rate; stores whose difference to it is noise share the place.
pub(super) fn fastest(shown: &Shown<'_>) -> Option<Tile> {
    let tasks = shown.most_tasks().unwrap_or(1);
    let ranked = ranked(shown, tasks, |cycles| Some(-cycles.dlock.per_second.value));
    let (first, _) = *ranked.first()?;
    let (equal, times) = leaders(shown, tasks, &ranked);
    let is_between = first.is_shared() && shown.stores.iter().any(|store| !store.is_shared());
    let about = match (is_all(&equal, &ranked), is_between) {
        (true, _) => "No store is faster",
        (false, true) => "Fastest between machines",
        (false, false) => "Fastest",
    };
    let rate = |cycles: &Cycles| format::rate(cycles.dlock.per_second.value);
    let rate = range(&ranked[..equal.len()], rate);
    let tasks = format::plural(tasks as usize, "task");
    let one = first.cycles(1).filter(|_| equal.len() == 1);
    let one = one.map_or_else(String::new, |cycles| {
        let latency = &cycles.dlock.latency;
        let [median, n] = [
            format::time(format::float(latency.p50_ns)),
            format::count(latency.count),
        ];
        format!(" One lock takes {median} (n\u{a0}=\u{a0}{n}).")
    });
    let cpu = ranked.first().filter(|_| equal.len() == 1);
    let cpu = cpu.map_or_else(String::new, |(_, cycles)| cpu_of_driver(cycles));
    let noise = format::percent(shown.run.noise.same_twice);
    let compared = match times {
        _ if equal.len() > 1 => format!("; no difference between them beyond the noise of {noise}"),
        Some(times) => format!(", {times}"),
        None => String::new(),
    };
    Some(Tile::new(
        about,
        names(&equal),
        format!("{rate} locks a second with {tasks}{compared}.{cpu}{one}"),
    ))
}

/// The processor time of a lock beside the driver's, as far as it is known.
fn cpu_of_driver(cycles: &Cycles) -> String {
    let times = |ratio: Option<Interval>| ratio.map(|ratio| format::ratio(ratio.value));
    let server = times(cycles.server_cpu_of_floor).map(|times| format!("the server {times} times"));
    let client = times(cycles.client_cpu_of_floor).map(|times| format!("the client {times} times"));
    let known: Vec<String> = server.into_iter().chain(client).collect();
    match known.is_empty() {
        true => String::new(),
        false => format!(" A lock costs {} the driver's work.", known.join(" and ")),
    }
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
        let mut differences = shown.run.differences(Workload::Cycle, tasks);
        let comparison = differences.find(|comparison| {
            comparison.faster == faster.data.label && comparison.slower == slower.data.label
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
    let noise = &shown.run.noise;
    let cpu = |cycles: &Cycles| cycles.dlock.server_cpu_ns.unwrap_or_default();
    let is_apart = |pair: &&[(_, &Cycles)]| noise.is_beyond(cpu(pair[1].1), cpu(pair[0].1));
    let equal = ranked.windows(2).take_while(|pair| !is_apart(pair)).count() + 1;
    let equal: Vec<&ShownStore<'_>> = ranked[..equal].iter().map(|(store, _)| *store).collect();
    let is_alone = equal.len() == 1;
    let times = cycles.server_cpu_of_floor.filter(|_| is_alone);
    let times = times.map_or_else(String::new, |times| {
        format!(", {} times the driver's own", format::ratio(times.value))
    });
    let same = match is_alone {
        true => String::new(),
        false => {
            let noise = format::percent(noise.same_twice);
            format!("; no difference between them beyond the noise of {noise}")
        }
    };
    let shown_cpu = range(&ranked[..equal.len()], |cycles| format::time(cpu(cycles)));
    let tasks = format::plural(tasks as usize, "task");
    let text = format!(
        "{shown_cpu} of the server's processor for a lock with {tasks}{times}{same}. Rates are not compared: the \
         machine was noisy."
    );
    let about = match is_all(&equal, &ranked) {
        true => "No store is cheaper for the server",
        false => "Least work for the server",
    };
    Some(Tile::new(about, names(&equal), text))
}

/// Whether the stores are several, and all there are.
fn is_all(equal: &[&ShownStore<'_>], ranked: &[(&ShownStore<'_>, &Cycles)]) -> bool {
    equal.len() > 1 && equal.len() == ranked.len()
}

/// The number of the first store, and of the last one if there are several.
fn range(ranked: &[(&ShownStore<'_>, &Cycles)], show: impl Fn(&Cycles) -> String) -> String {
    let shown = [ranked.first(), ranked.last()].map(|one| one.map(|(_, cycles)| show(cycles)));
    match shown {
        [Some(first), Some(last)] if ranked.len() > 1 => format!("{first} to {last}"),
        [first, _] => first.unwrap_or_default(),
    }
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
