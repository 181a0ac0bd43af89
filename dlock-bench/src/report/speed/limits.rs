//! How far each store is from its limit.

use maud::{Markup, html};

use super::latencies;
use crate::{
    data::{Ceiling, Limit},
    report::{
        format,
        plot::roofline::{self, Point, Roof, Roofline},
        shown::{Shown, ShownStore},
    },
};

pub(super) fn render(shown: &Shown<'_>) -> Markup {
    let roofs: Vec<(&ShownStore<'_>, Markup)> = (shown.stores.iter())
        .filter_map(|store| Some((store, roofline::figure(&line(store)?)?)))
        .collect();
    html! {
        @if !roofs.is_empty() {
            h3 { "How far it is to the limit" }
            div.roofs {
                @for (store, figure) in &roofs {
                    div.roof {
                        h4 class=(store.series().class()) { (store.name) small { (reached(store)) } }
                        (figure)
                    }
                }
                (key())
            }
        }
    }
}

fn key() -> Markup {
    html! {
        div.roof.keybox {
            h4 { "How to read this" }
            p { "Right: more tasks at a time, each with a name of its own. Up: more locks a second." }
            p {
                "The " b { "grey region is out of reach" } " at what one lock costs. On the slope each task waits for "
                "round trips or the disk; at the top the named resource is used up."
            }
            p { "Dashed: the driver alone. It is no lock, costs less, and may be higher. Whiskers: 95 % interval." }
        }
    }
}

fn line<'a>(store: &'a ShownStore<'a>) -> Option<Roofline<'a>> {
    let mut points: Vec<Point> = (store.data.cycles.iter())
        .map(|cycles| Point {
            tasks: f64::from(cycles.tasks),
            dlock: cycles.dlock.per_second,
            floor: cycles.floor.as_ref().map(|floor| floor.per_second.value),
        })
        .collect();
    points.sort_by(|a, b| a.tasks.total_cmp(&b.tasks));
    (!points.is_empty()).then(|| Roofline {
        series: store.series(),
        points,
        roof: roof(store),
    })
}

/// The slope is the same at each number of tasks; of the ceilings the highest is shown.
fn roof(store: &ShownStore<'_>) -> Option<Roof> {
    let limits = || {
        let cycles = store.data.cycles.iter();
        cycles.filter_map(|cycles| Some((f64::from(cycles.tasks), cycles.limit.as_ref()?)))
    };
    let one_task = limits()
        .map(|(tasks, limit)| limit.slope_per_second / tasks)
        .fold(0.0, f64::max);
    let ceilings = limits().filter_map(|(_, limit)| ceiling(limit));
    let exchange = store.data.exchange.as_ref();
    (one_task > 0.0 && one_task.is_finite()).then(|| Roof {
        one_task,
        waits_for: exchange.map_or_else(|| "round trips".to_owned(), latencies::exchanges),
        ceiling: ceilings.reduce(|a, b| if a.0 >= b.0 { a } else { b }),
    })
}

fn ceiling(limit: &Limit) -> Option<(f64, &'static str)> {
    let words = match limit.ceiling {
        Some(Ceiling::ServerThread) => "the server’s thread",
        Some(Ceiling::Cores) => "all cores",
        Some(Ceiling::Disk) => "the disk’s writes",
        _ => "the scarcest resource",
    };
    Some((limit.ceiling_per_second?, words))
}

/// The distance at the largest number of tasks, in words.
fn reached(store: &ShownStore<'_>) -> String {
    let last = store.data.cycles.iter().max_by_key(|cycles| cycles.tasks);
    let Some(last) = last else {
        return String::new();
    };
    let floor = last
        .of_floor
        .map(|ratio| format!("{} of the driver", format::ratio(ratio.value)));
    let limit = last
        .limit
        .as_ref()
        .map(|limit| format!("{} of the limit", format::percent(limit.reached)));
    let parts: Vec<String> = [floor, limit].into_iter().flatten().collect();
    let tasks = format::plural(last.tasks as usize, "task");
    let unknown = if last.limit.is_none() {
        "; its limit is not known"
    } else {
        ""
    };
    format!("with {tasks} {}{unknown}", parts.join(", "))
}
