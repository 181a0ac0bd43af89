//! All numbers, as tables.

use maud::{Markup, html};

use super::{
    format,
    shown::{Shown, ShownStore},
};
use crate::data::{Cycles, Held, Interval, Latency, Throughput};

/// Processor time comes before rates: it depends least on what else the machine does.
const RATES: [&str; 13] = [
    "Tasks",
    "server",
    "× driver",
    "client",
    "× driver",
    "dlock /s",
    "95 %",
    "driver /s",
    "ratio",
    "95 %",
    "of own lock",
    "disk",
    "limit /s",
];
const LATENCIES: [&str; 7] = ["What", "n", "median", "p90", "p99", "p99.9", "longest"];
const HELD: [&str; 7] = [
    "Held",
    "taken in",
    "lost",
    "ttl left",
    "bytes each",
    "requests/s",
    "of a core",
];

/// The rows of cycles each of which has a new name.
const USED_ONCE: &str = "names used once";

pub(super) fn render(shown: &Shown<'_>) -> Markup {
    let rates = rows(shown, rates);
    let latencies = rows(shown, latencies);
    let held = rows(shown, |store| store.data.held.iter().map(held).collect());
    html! {
        (table(&RATES, &rates))
        (table(&LATENCIES, &latencies))
        (table(&HELD, &held))
    }
}

/// A row: the name of its store, and its cells.
type Row<'a> = (&'a str, Vec<String>);

fn rows<'a>(
    shown: &'a Shown<'a>,
    of: impl Fn(&'a ShownStore<'a>) -> Vec<Vec<String>>,
) -> Vec<Row<'a>> {
    let stores = shown.stores.iter();
    stores
        .flat_map(|store| {
            of(store)
                .into_iter()
                .map(|cells| (store.name.as_str(), cells))
        })
        .collect()
}

/// A table without the columns in which no row has a number.
fn table(heads: &[&str], rows: &[Row<'_>]) -> Markup {
    let has = |column: usize| {
        rows.iter()
            .any(|(_, cells)| cells.get(column).is_some_and(|cell| cell != format::NONE))
    };
    let shown: Vec<usize> = (0..heads.len()).filter(|column| has(*column)).collect();
    html! {
        @if !rows.is_empty() {
            div.scroll {
                table.raw {
                    thead { tr { th scope="col" { "Store" } @for column in &shown { th scope="col" { (heads[*column]) } } } }
                    tbody {
                        @for (name, cells) in rows {
                            tr { th scope="row" { (name) } @for column in &shown { td { (cells[*column]) } } }
                        }
                    }
                }
            }
        }
    }
}

fn rates(store: &ShownStore<'_>) -> Vec<Vec<String>> {
    let cycles = store.data.cycles.iter();
    let cycles = cycles.map(|row| rate(row.tasks.to_string(), row));
    let new_names = store.data.new_names.iter();
    let new_names = new_names.map(|row| rate(format!("{}, {USED_ONCE}", row.tasks), row));
    cycles.chain(new_names).collect()
}

fn rate(tasks: String, cycles: &Cycles) -> Vec<String> {
    let own = &cycles.dlock;
    let floor = cycles
        .floor
        .as_ref()
        .map(|floor: &Throughput| floor.per_second.value);
    vec![
        tasks,
        or_none(own.server_cpu_ns, format::time),
        or_none(value(cycles.server_cpu_of_floor), format::ratio),
        format::time(own.client_cpu_ns),
        or_none(value(cycles.client_cpu_of_floor), format::ratio),
        format::rate(own.per_second.value),
        interval(Some(own.per_second), format::rate),
        or_none(floor, format::rate),
        or_none(value(cycles.of_floor), format::ratio),
        interval(cycles.of_floor, format::ratio),
        or_none(value(cycles.of_own_lock), format::ratio),
        or_none(own.server_flush_ns, format::time),
        or_none(
            cycles.limit.as_ref().map(|limit| limit.per_second()),
            format::rate,
        ),
    ]
}

fn latencies(store: &ShownStore<'_>) -> Vec<Vec<String>> {
    let data = store.data;
    let cycles = data.cycles.iter().map(|cycles| {
        let tasks = format::plural(cycles.tasks as usize, "task");
        (format!("cycle, {tasks}"), Some(&cycles.dlock.latency))
    });
    let new_names = data.new_names.iter().map(|cycles| {
        let tasks = format::plural(cycles.tasks as usize, "task");
        let what = format!("cycle, {tasks}, {USED_ONCE}");
        (what, Some(&cycles.dlock.latency))
    });
    let others = [
        (
            "steady load",
            data.steady.as_ref().map(|steady| &steady.latency),
        ),
        (
            "hand-over",
            data.hand_over.as_ref().map(|hand_over| &hand_over.latency),
        ),
        (
            "one shot",
            data.one_shot.as_ref().map(|one_shot| &one_shot.latency),
        ),
        (
            "one exchange",
            data.exchange.as_ref().map(|exchange| &exchange.latency),
        ),
    ];
    let others = others
        .into_iter()
        .map(|(what, latency)| (what.to_owned(), latency));
    cycles
        .chain(new_names)
        .chain(others)
        .filter_map(|(what, latency)| Some(latency_row(what, latency?)))
        .collect()
}

fn latency_row(what: String, latency: &Latency) -> Vec<String> {
    let times = [
        latency.p50_ns,
        latency.p90_ns,
        latency.p99_ns,
        latency.p999_ns,
        latency.max_ns,
    ];
    let times = times.map(|nanos| format::time(format::float(nanos)));
    [what, format::count(latency.count)]
        .into_iter()
        .chain(times)
        .collect()
}

fn held(held: &Held) -> Vec<String> {
    vec![
        format::count(u64::from(held.locks)),
        format::time(format::float(held.acquired_in_ms) * 1e6),
        held.lost.to_string(),
        format::percent(held.ttl_left_min),
        or_none(held.server_bytes_each, format::size),
        or_none(held.server_requests_per_second, format::rate),
        or_none(held.server_cpu, format::percent),
    ]
}

fn value(interval: Option<Interval>) -> Option<f64> {
    interval.map(|interval| interval.value)
}

fn interval(interval: Option<Interval>, show: fn(f64) -> String) -> String {
    or_none(interval, |interval| {
        format!("{}–{}", show(interval.low), show(interval.high))
    })
}

fn or_none<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| format::NONE.to_owned(), show)
}
