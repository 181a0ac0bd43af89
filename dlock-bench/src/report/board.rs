//! One row for each store: safety and speed side by side.

use maud::{Markup, html};

use super::{
    format, safety,
    shown::{Shown, ShownStore},
};
use crate::data::{Badge, Interval, Latency};

/// How many characters of an error are shown.
const ERROR_MAX: usize = 400;

/// A column of the table.
struct Column<'a> {
    label: &'static str,
    below: String,
    /// Whether the numbers are compared with care on a noisy machine.
    is_rate: bool,
    cell: Read<'a>,
}

/// Reads the cell of a store; `None` if it was not measured.
type Read<'a> = Box<dyn Fn(&ShownStore<'_>) -> Option<Cell> + 'a>;

/// A number, what is below it, and a bar as a part of the longest.
struct Cell {
    number: String,
    below: String,
    bar: Option<f64>,
}

pub(super) fn render(shown: &Shown<'_>) -> Markup {
    let columns = columns(shown);
    let is_measured = |column: &Column<'_>| {
        shown
            .stores
            .iter()
            .any(|store| (column.cell)(store).is_some())
    };
    let columns: Vec<_> = columns.into_iter().filter(is_measured).collect();
    let is_noisy = !matches!(shown.run.noise.badge, Badge::Quiet);
    html! {
        div.scroll {
            table.board {
                thead { tr {
                    th scope="col" { "Store" }
                    th scope="col" { "Safety" small { (conditions(shown)) } }
                    @for column in &columns { th scope="col" { (column.label) small { (column.below) } } }
                } }
                tbody { @for store in &shown.stores { (row(store, &columns, is_noisy)) } }
            }
        }
    }
}

/// The conditions of the verification, in words.
fn conditions(shown: &Shown<'_>) -> &'static str {
    match (shown.is_verified, shown.has_faults()) {
        (false, _) => "",
        (true, true) => "under faults",
        (true, false) => "without faults",
    }
}

fn row(store: &ShownStore<'_>, columns: &[Column<'_>], is_noisy: bool) -> Markup {
    let (class, words) = safety::chip(&safety::judge(store));
    let grants = store.verdict.filter(|verdict| verdict.grants > 0);
    let series = store.series();
    html! {
        tr class=(series.class()) {
            th scope="row" {
                (series.key())
                span { b { (store.name) } small title=(store.data.url) { (store.below_name()) } }
            }
            td data-l="Safety" {
                span class=(class) { (words) }
                @if let Some(verdict) = grants { small { (format::plural(usize::try_from(verdict.grants).unwrap_or(usize::MAX), "grant")) } }
            }
            @if let (Some(error), true) = (&store.data.error, store.data.cycles.is_empty()) {
                td.error colspan=(columns.len().max(1)) data-l="Not measured" { b { "Not measured: " } (format::clipped(error, ERROR_MAX)) }
            } @else {
                @for column in columns { (cell(store, column, is_noisy)) }
            }
        }
        @if let (Some(error), false) = (&store.data.error, store.data.cycles.is_empty()) {
            tr { td.error colspan=(columns.len() + 2) { b { (store.name) ", not to the end: " } (format::clipped(error, ERROR_MAX)) } }
        }
    }
}

fn cell(store: &ShownStore<'_>, column: &Column<'_>, is_noisy: bool) -> Markup {
    let class = (is_noisy && column.is_rate).then_some("dim");
    html! {
        td data-l=(column.label) class=[class] {
            @if let Some(cell) = (column.cell)(store) {
                b { (cell.number) }
                small { (cell.below) }
                @if let Some(part) = cell.bar {
                    i.bar style={ "width:" (format!("{:.0}%", (part * 100.0).clamp(2.0, 100.0))) } {}
                }
            } @else { span.none { (format::NONE) } }
        }
    }
}

fn columns<'a>(shown: &'a Shown<'a>) -> Vec<Column<'a>> {
    let most = shown.most_tasks();
    let rates = shown.stores.iter().filter_map(|store| store.cycles(most?));
    let highest = rates
        .map(|cycles| cycles.dlock.per_second.value)
        .fold(0.0, f64::max);
    let tasks = most.map_or_else(String::new, |most| format::plural(most as usize, "task"));
    let all = [
        (
            "Server’s work",
            format!("for a lock, {tasks}"),
            false,
            Box::new(move |store: &ShownStore<'_>| {
                let cycles = store.cycles(most.unwrap_or(1))?;
                Some(cpu(cycles.dlock.server_cpu_ns?, cycles.server_cpu_of_floor))
            }) as Read<'_>,
        ),
        (
            "Client’s work",
            format!("for a lock, {tasks}"),
            false,
            Box::new(move |store| {
                let cycles = store.cycles(most.unwrap_or(1))?;
                Some(cpu(cycles.dlock.client_cpu_ns, cycles.client_cpu_of_floor))
            }),
        ),
        (
            "One lock",
            "taken and freed".to_owned(),
            true,
            Box::new(one_lock),
        ),
        (
            "Locks a second",
            tasks.clone(),
            true,
            Box::new(move |store| rate(store, most?, highest)),
        ),
        (
            "Hand-over",
            "between processes".to_owned(),
            true,
            Box::new(|store| latency(&store.data.hand_over.as_ref()?.latency)),
        ),
        (
            "After a crash",
            "until the next grant".to_owned(),
            false,
            Box::new(after_crash),
        ),
        (
            "One shot",
            "connect, lock, end".to_owned(),
            true,
            Box::new(|store| latency(&store.data.one_shot.as_ref()?.latency)),
        ),
        (
            "1\u{a0}000 held",
            "cost to the server".to_owned(),
            false,
            Box::new(held),
        ),
    ];
    all.into_iter()
        .map(|(label, below, is_rate, cell)| Column {
            label,
            below,
            is_rate,
            cell,
        })
        .collect()
}

fn one_lock(store: &ShownStore<'_>) -> Option<Cell> {
    latency(&store.cycles(1)?.dlock.latency)
}

fn rate(store: &ShownStore<'_>, tasks: u32, highest: f64) -> Option<Cell> {
    let cycles = store.cycles(tasks)?;
    let value = cycles.dlock.per_second.value;
    let of_floor = cycles
        .of_floor
        .map(|ratio| format!("{} of the driver", format::ratio(ratio.value)));
    Some(Cell {
        number: format::rate(value),
        below: of_floor.unwrap_or_default(),
        bar: (highest > 0.0 && value.is_finite()).then_some(value / highest),
    })
}

/// A processor time in nanoseconds, and how many times the driver's it is.
fn cpu(nanos: f64, of_floor: Option<Interval>) -> Cell {
    let of_floor = of_floor.map(|ratio| format!("{} × driver", format::ratio(ratio.value)));
    Cell {
        number: format::time(nanos),
        below: of_floor.unwrap_or_default(),
        bar: None,
    }
}

fn latency(latency: &Latency) -> Option<Cell> {
    let [median, p99] =
        [latency.p50_ns, latency.p99_ns].map(|nanos| format::time(format::float(nanos)));
    (latency.count > 0).then(|| Cell {
        number: median,
        below: format!("p99 {p99}"),
        bar: None,
    })
}

fn after_crash(store: &ShownStore<'_>) -> Option<Cell> {
    let takeover = store.data.takeover.as_ref()?;
    Some(Cell {
        number: format::time(store.takeover_median()?),
        below: format!(
            "ttl {}",
            format::plain_time(format::float(takeover.ttl_ms) * 1e6)
        ),
        bar: None,
    })
}

fn held(store: &ShownStore<'_>) -> Option<Cell> {
    let held = store.data.held.iter().find(|held| held.locks == 1_000)?;
    Some(Cell {
        number: format::rate(held.server_requests_per_second?),
        below: "requests/s".to_owned(),
        bar: None,
    })
}
