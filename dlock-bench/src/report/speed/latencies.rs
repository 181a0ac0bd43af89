//! Figures of how long something took.

use maud::html;

use crate::{
    data::{Exchange, Latency},
    report::{
        card::Card,
        format,
        plot::{
            percentiles::{self, Line},
            ridgeline::{self, Ridge},
        },
        shown::{Shown, ShownStore},
    },
};

/// One task, with the driver's outline and the limit's mark.
pub(super) fn cycle(shown: &Shown<'_>) -> Option<Card> {
    let cycles = shown
        .stores
        .iter()
        .filter_map(|store| Some((store, store.cycles(1)?)));
    let ridges = cycles.map(|(store, cycles)| Ridge {
        series: store.series(),
        latency: &cycles.dlock.latency,
        floor: cycles.floor.as_ref().map(|floor| &floor.latency),
        limit: store.data.exchange.as_ref().map(limit),
    });
    let ridges: Vec<Ridge<'_>> = ridges.collect();
    let title = "One lock, taken and freed";
    Some(Card {
        title,
        caption: format!(
            "one task, without contention: how long each took, {}",
            number(&ridges)
        ),
        figure: ridgeline::figure(title, &ridges)?,
        note: None,
    })
}

/// The least time of a cycle, and why.
fn limit(exchange: &Exchange) -> (f64, String) {
    let one = format::float(exchange.latency.p50_ns);
    (exchange.for_each_cycle * one, exchanges(exchange))
}

/// `2 round trips`, `2 durable writes`.
pub(super) fn exchanges(exchange: &Exchange) -> String {
    let number = exchange.for_each_cycle;
    let unit = if exchange.unit == "write" {
        "durable write"
    } else {
        &exchange.unit
    };
    let ending = if (number - 1.0).abs() < 0.005 {
        ""
    } else {
        "s"
    };
    let number = format::fixed(number, usize::from(number.fract() != 0.0));
    format!("{number} {unit}{ending}")
}

/// Arrivals by a clock.
pub(super) fn steady(shown: &Shown<'_>) -> Option<Card> {
    let all = || {
        shown
            .stores
            .iter()
            .filter_map(|store| Some((store, store.data.steady.as_ref()?)))
    };
    let lines = all().map(|(store, steady)| Line {
        series: store.series(),
        latency: &steady.latency,
    });
    let lines: Vec<Line<'_>> = lines.collect();
    let title = "The slow ones";
    let tasks = all().map(|(_, steady)| steady.tasks).max()?;
    let late = all().filter(|(_, steady)| steady.unserved > 0);
    let late =
        late.map(|(store, steady)| format!("{}: {}", store.name, format::count(steady.unserved)));
    let late: Vec<String> = late.collect();
    Some(Card {
        title,
        caption: format!("{tasks} tasks at half of the store’s own peak"),
        figure: percentiles::figure(title, &lines)?,
        note: Some(html! {
            "The numbers are those of the right ends. Locks are due by a clock and count from then, so a pause counts for \
             all that had to wait."
            @if !late.is_empty() { " Not served in time: " (late.join(", ")) "." }
        }),
    })
}

/// Between two processes.
pub(super) fn hand_over(shown: &Shown<'_>) -> Option<Card> {
    let ridges = of(shown, |store| Some(&store.data.hand_over.as_ref()?.latency));
    let title = "Hand-over";
    let exchanges = shown.stores.iter().filter_map(|store| {
        let number = store.data.hand_over.as_ref()?.exchanges?;
        let unit = &store.data.exchange.as_ref()?.unit;
        Some(format!(
            "{} {} {unit}s",
            store.name,
            format::fixed(number.value, 1)
        ))
    });
    let exchanges: Vec<String> = exchanges.collect();
    Some(Card {
        title,
        caption: format!(
            "from a release to the grant in another process, {}",
            number(&ridges)
        ),
        figure: ridgeline::figure(title, &ridges)?,
        note: (!exchanges.is_empty())
            .then(|| html! { "In exchanges with the server: " (exchanges.join(", ")) "." }),
    })
}

/// A process that takes one lock.
pub(super) fn one_shot(shown: &Shown<'_>) -> Option<Card> {
    let ridges = of(shown, |store| Some(&store.data.one_shot.as_ref()?.latency));
    let title = "One shot";
    Some(Card {
        title,
        caption: format!(
            "a process starts, connects, locks, frees and ends, {}",
            number(&ridges)
        ),
        figure: ridgeline::figure(title, &ridges)?,
        note: Some(html! { "What " code { "dlock run" } " adds to a job of cron." }),
    })
}

fn of<'a>(
    shown: &'a Shown<'a>,
    latency: impl Fn(&'a ShownStore<'a>) -> Option<&'a Latency>,
) -> Vec<Ridge<'a>> {
    let ridges = shown.stores.iter().filter_map(|store| {
        Some(Ridge {
            series: store.series(),
            latency: latency(store)?,
            floor: None,
            limit: None,
        })
    });
    ridges.collect()
}

/// `n = 860` or `n = 860 to 38 880`.
fn number(ridges: &[Ridge<'_>]) -> String {
    let counts = || ridges.iter().map(|ridge| ridge.latency.count);
    let [least, most] =
        [counts().min(), counts().max()].map(|count| format::count(count.unwrap_or_default()));
    if least == most {
        return format!("n\u{a0}=\u{a0}{most}");
    }
    format!("n\u{a0}=\u{a0}{least} to {most}")
}
