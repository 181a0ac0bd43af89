//! Figures of what locks cost others: processor time, and requests while they are held.

use maud::html;

use crate::{
    data::Cycles,
    report::{
        card::Card,
        format,
        plot::{
            bars::{self, Bars},
            by_number::{self, Prices},
        },
        shown::{Shown, ShownStore},
    },
};

/// Processor time for a lock, at the largest number of tasks.
pub(super) fn processor(shown: &Shown<'_>) -> Option<Card> {
    let tasks = shown.most_tasks().unwrap_or(1);
    let all = shown
        .stores
        .iter()
        .filter_map(|store| Some((store, store.cycles(tasks)?)));
    let bars: Vec<Bars<'_>> = all.map(|(store, cycles)| bars_of(store, cycles)).collect();
    let title = "Processor time of one lock";
    let tasks = format::plural(tasks as usize, "task");
    Some(Card {
        title,
        caption: format!("{tasks}: client dark, server light; thin: the driver alone"),
        figure: bars::figure(title, &bars)?,
        note: Some(html! {
            "Numbers: the sum; the server’s as a multiple of the driver’s."
        }),
    })
}

fn bars_of<'a>(store: &'a ShownStore<'a>, cycles: &Cycles) -> Bars<'a> {
    let floor = cycles.floor.as_ref();
    let ratio = cycles
        .server_cpu_of_floor
        .map(|ratio| format!("{} ×", format::ratio(ratio.value)));
    Bars {
        series: store.series(),
        dlock: [Some(cycles.dlock.client_cpu_ns), cycles.dlock.server_cpu_ns],
        floor: [
            floor.map(|floor| floor.client_cpu_ns),
            floor.and_then(|floor| floor.server_cpu_ns),
        ],
        number: ratio.unwrap_or_default(),
    }
}

/// Requests to the server, by the number of locks that are held.
pub(super) fn held(shown: &Shown<'_>) -> Option<Card> {
    let prices = shown.stores.iter().filter_map(|store| {
        let held = store.data.held.iter();
        let points =
            held.filter_map(|held| Some((f64::from(held.locks), held.server_requests_per_second?)));
        let points: Vec<(f64, f64)> = points.collect();
        (!points.is_empty()).then(|| Prices {
            series: store.series(),
            points,
            unit: "/s",
        })
    });
    let prices: Vec<Prices<'_>> = prices.collect();
    let lost = shown.stores.iter().filter_map(|store| {
        let lost: u32 = store.data.held.iter().map(|held| held.lost).sum();
        (lost > 0).then(|| format!("{}: {lost}", store.name))
    });
    let lost: Vec<String> = lost.collect();
    let title = "Locks that are held";
    Some(Card {
        title,
        caption: "requests a second, by the number of locks of one locker".to_owned(),
        figure: by_number::figure(title, &prices)?,
        note: Some(html! {
            @if lost.is_empty() { "None was lost while it was held." } @else { b { "Lost while held" } ": " (lost.join(", ")) "." }
            " Bytes and renewals: see all numbers."
        }),
    })
}
