//! Figures of several processes that want one lock.

use maud::html;

use crate::{
    data::{Contention, Takeover},
    report::{
        card::Card,
        format,
        plot::{
            dots::{self, Dots, Lane},
            shares::{self, Shares},
        },
        shown::{Shown, ShownStore},
    },
};

/// Each take-over as a dot.
pub(super) fn takeover(shown: &Shown<'_>) -> Option<Card> {
    let all = || {
        shown
            .stores
            .iter()
            .filter_map(|store| Some((store, store.data.takeover.as_ref()?)))
    };
    let dots: Vec<Dots<'_>> = all()
        .map(|(store, takeover)| dots_of(store, takeover))
        .collect();
    let missed = all().filter(|(_, takeover)| takeover.missed > 0);
    let missed = missed.map(|(store, takeover)| format!("{}: {}", store.name, takeover.missed));
    let missed: Vec<String> = missed.collect();
    let title = "After a crash";
    Some(Card {
        title,
        caption: "until the next grant: ● holder killed, ○ cut off".to_owned(),
        figure: dots::figure(title, &dots)?,
        note: Some(html! {
            "Each dot is a take-over; the numbers are medians."
            @if !missed.is_empty() { " No next holder within the store’s bound: " (missed.join(", ")) "." }
        }),
    })
}

fn dots_of<'a>(store: &'a ShownStore<'a>, takeover: &Takeover) -> Dots<'a> {
    let times = |times: &[u64]| {
        times
            .iter()
            .copied()
            .map(format::float)
            .collect::<Vec<f64>>()
    };
    let lane = |what, nanos: Option<&[u64]>| match nanos {
        Some([]) => Lane::Not("no result"),
        Some(nanos) => Lane::Measured {
            what,
            times: times(nanos),
        },
        None => Lane::Not("cannot be cut off"),
    };
    Dots {
        series: store.series(),
        ttl: format::float(takeover.ttl_ms) * 1e6,
        full: lane("killed", Some(takeover.killed_ns.as_slice())),
        empty: lane("cut off", takeover.cut_off_ns.as_deref()),
    }
}

/// The shares of the processes.
pub(super) fn contention(shown: &Shown<'_>) -> Option<Card> {
    let all = || {
        shown
            .stores
            .iter()
            .filter_map(|store| Some((store, store.data.contention.as_ref()?)))
    };
    let stores: Vec<Shares<'_>> = all()
        .map(|(store, contention)| shares_of(store, contention))
        .collect();
    let processes = all().map(|(_, contention)| contention.grants.len()).max()?;
    let seconds = all().map(|(_, contention)| contention.took_ms).max()?;
    let took = format::plain_time(format::float(seconds) * 1e6);
    let title = "Who gets it";
    Some(Card {
        title,
        caption: format!("{processes} processes want one lock for {took}: the share of each"),
        figure: shares::figure(title, &stores)?,
        note: Some(html! { "Numbers: Jain’s index (1 is even), and the longest wait." }),
    })
}

fn shares_of<'a>(store: &'a ShownStore<'a>, contention: &Contention) -> Shares<'a> {
    Shares {
        series: store.series(),
        parts: contention.grants.clone(),
        numbers: [
            format::fixed(contention.jain, 3),
            format::time(format::float(contention.longest_wait_ns)),
        ],
    }
}
