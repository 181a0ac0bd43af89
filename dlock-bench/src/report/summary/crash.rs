//! The sentence about a crash, or about hand-overs.

use super::tile::{Tile, names};
use crate::{
    data::{COUNT_MIN, Takeover, Workload},
    report::{
        format,
        shown::{Shown, ShownStore},
    },
};

/// The sentence that calls no store the fastest.
const AFTER_CRASH: &str = "After a crash";

/// The processes of a hand-over.
const PROCESSES: u32 = 2;

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
    let (least, _, takeover) = *measured.first()?;
    let number = takeover.killed_ns.len();
    let (quick, slow): (Vec<_>, Vec<_>) = measured
        .iter()
        .partition(|(median, _, takeover)| *median <= AT_ONCE * ttl_of(takeover));
    let noise = &shown.run.noise;
    if quick.is_empty() {
        let is_apart =
            |pair: &&[(f64, &ShownStore<'_>, &Takeover)]| noise.is_beyond(pair[1].0, pair[0].0);
        let equal = measured
            .windows(2)
            .take_while(|pair| !is_apart(pair))
            .count()
            + 1;
        let (times, all) = (format::time(least), measured.len());
        let times = match measured.get(equal - 1).filter(|_| equal > 1) {
            Some((most, ..)) => format!("{times} to {}", format::time(*most)),
            None => times,
        };
        let ttls = for_ttls(measured[..equal].iter().map(|(.., takeover)| *takeover));
        let text = format!(
            "The next holder starts {times} after a kill (median, n\u{a0}=\u{a0}{number}), {ttls}."
        );
        let equal: Vec<&ShownStore<'_>> = measured[..equal]
            .iter()
            .map(|(_, store, _)| *store)
            .collect();
        return Some(Tile::new(about(&equal, all), names(&equal), text));
    }
    let longest = quick
        .iter()
        .filter_map(|(_, _, takeover)| takeover.killed_ns.iter().max());
    let longest = format::time(format::float(longest.copied().max().unwrap_or_default()));
    let ttls = for_ttls(slow.iter().map(|(.., takeover)| *takeover));
    let others = match slow.as_slice() {
        [] => String::new(),
        [(only, store, _)] => format!(" {} takes {}, {ttls}.", store.name, format::time(*only)),
        [(from, ..), .., (to, ..)] => {
            format!(
                " The others take {} to {}, {ttls}.",
                format::time(*from),
                format::time(*to)
            )
        }
    };
    let stores: Vec<&ShownStore<'_>> = quick.iter().map(|(_, store, _)| *store).collect();
    let text = format!(
        "The next holder starts within {longest} after a kill (n\u{a0}=\u{a0}{number}).{others}"
    );
    // Those that wait for the ttl have to be apart from those that do not.
    let last = quick.last().map_or(0.0, |(median, ..)| *median);
    let is_apart = slow
        .first()
        .is_none_or(|(median, ..)| noise.is_beyond(*median, last));
    let about = match is_apart {
        true => about(&stores, measured.len()),
        false => AFTER_CRASH,
    };
    Some(Tile::new(about, names(&stores), text))
}

/// The ttl in nanoseconds.
fn ttl_of(takeover: &Takeover) -> f64 {
    format::float(takeover.ttl_ms) * 1e6
}

/// `for a ttl of 10 s`, or the least and the most of several.
fn for_ttls<'a>(takeovers: impl Iterator<Item = &'a Takeover>) -> String {
    let mut ttls: Vec<f64> = takeovers.map(ttl_of).collect();
    ttls.sort_by(f64::total_cmp);
    ttls.dedup();
    let shown = |ttl: &f64| format::plain_time(*ttl);
    match ttls.as_slice() {
        [] => String::new(),
        [ttl] => format!("for a ttl of {}", shown(ttl)),
        [from, .., to] => format!("for a ttl of {} to {}", shown(from), shown(to)),
    }
}

/// The title of the sentence: no store is the fastest among equals.
fn about(equal: &[&ShownStore<'_>], all: usize) -> &'static str {
    match equal.len() > 1 && equal.len() == all {
        true => AFTER_CRASH,
        false => "Fastest after a crash",
    }
}

/// Without a measurement of crashes: the hand-over. One is the fastest if the difference to the next is beyond the noise.
pub(super) fn hand_over(shown: &Shown<'_>) -> Option<Tile> {
    let measured = shown
        .stores
        .iter()
        .filter_map(|store| Some((store, store.data.hand_over.as_ref()?)));
    let mut measured: Vec<_> = measured.collect();
    measured.sort_by(|(_, a), (_, b)| a.median_ns.value.total_cmp(&b.median_ns.value));
    let (store, hand_over) = *measured.first()?;
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
    let label = &store.data.label;
    let mut differences = shown.run.differences(Workload::HandOver, PROCESSES);
    let (about, than) = match differences.find(|one| one.faster == *label) {
        Some(one) => {
            let times = format::fixed(one.times.value, 1);
            let slower = shown.name_of(&one.slower).unwrap_or(&one.slower);
            (
                "Fastest hand-over",
                format!(", {times} times as fast as {slower}"),
            )
        }
        None if measured.len() > 1 && hand_over.latency.count < COUNT_MIN => {
            ("Hand-over", "; too few to compare".to_owned())
        }
        None if measured.len() > 1 => {
            let noise = format::percent(shown.run.noise.same_twice);
            let than = format!("; no difference to the next beyond the noise of {noise}");
            ("Hand-over", than)
        }
        None => ("Hand-over", String::new()),
    };
    let text = format!(
        "The next process has the lock {median} after the release (n\u{a0}=\u{a0}{number}){exchanges}{than}."
    );
    Some(Tile::new(about, store.name.clone(), text))
}
