//! The sentence about a crash, or about hand-overs.

use super::tile::{Tile, names};
use crate::{
    data::Takeover,
    report::{
        format,
        shown::{Shown, ShownStore},
    },
};

/// A take-over within this part of the ttl did not wait for it.
const AT_ONCE: f64 = 0.1;

/// The stores whose locks are free at once after a kill, or the one that is the first.
pub(super) fn after_crash(shown: &Shown<'_>) -> Option<Tile> {
    let mut measured: Vec<(f64, &ShownStore<'_>, &Takeover)> = (shown.stores.iter())
        .filter_map(|store| {
            let takeover = store.data.takeover.as_ref()?;
            Some((store.takeover_median()?, store, takeover))
        })
        .collect();
    measured.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
    let (least, first, takeover) = *measured.first()?;
    let ttl = |takeover: &Takeover| format::float(takeover.ttl_ms) * 1e6;
    let number = takeover.killed_ns.len();
    let of_ttl = format!("for a ttl of {}", format::plain_time(ttl(takeover)));
    let (quick, slow): (Vec<_>, Vec<_>) = measured
        .iter()
        .partition(|(median, _, takeover)| *median <= AT_ONCE * ttl(takeover));
    if quick.is_empty() {
        let least = format::time(least);
        let text = format!(
            "The next holder starts {least} after a kill (median, n\u{a0}=\u{a0}{number}), {of_ttl}."
        );
        return Some(Tile::new("Fastest after a crash", first.name.clone(), text));
    }
    let longest = quick
        .iter()
        .filter_map(|(_, _, takeover)| takeover.killed_ns.iter().max());
    let longest = format::time(format::float(longest.copied().max().unwrap_or_default()));
    let others = match slow.as_slice() {
        [] => String::new(),
        [(only, store, _)] => format!(" {} takes {}, {of_ttl}.", store.name, format::time(*only)),
        [(from, ..), .., (to, ..)] => {
            format!(
                " The others take {} to {}, {of_ttl}.",
                format::time(*from),
                format::time(*to)
            )
        }
    };
    let stores: Vec<&ShownStore<'_>> = quick.iter().map(|(_, store, _)| *store).collect();
    let text = format!(
        "The next holder starts within {longest} after a kill (n\u{a0}=\u{a0}{number}).{others}"
    );
    Some(Tile::new("Fastest after a crash", names(&stores), text))
}

/// Without a measurement of crashes: the fastest hand-over.
pub(super) fn hand_over(shown: &Shown<'_>) -> Option<Tile> {
    let measured = shown
        .stores
        .iter()
        .filter_map(|store| Some((store, store.data.hand_over.as_ref()?)));
    let (store, hand_over) =
        measured.min_by(|(_, a), (_, b)| a.median_ns.value.total_cmp(&b.median_ns.value))?;
    let median = format::time(hand_over.median_ns.value);
    let number = format::count(hand_over.latency.count);
    let exchanges = hand_over.exchanges.zip(store.data.exchange.as_ref());
    let exchanges = exchanges.map_or_else(String::new, |(exchanges, exchange)| {
        format!(
            ", the time of {} {}s",
            format::fixed(exchanges.value, 1),
            exchange.unit
        )
    });
    let text = format!(
        "The next process has the lock {median} after the release (n\u{a0}=\u{a0}{number}){exchanges}."
    );
    Some(Tile::new("Fastest hand-over", store.name.clone(), text))
}
