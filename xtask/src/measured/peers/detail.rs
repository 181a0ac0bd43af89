//! The tables of figures that have a bound: each with the interval that its median is in, with a confidence of 95 %.

use super::{
    super::table::{NONE, Table},
    cells::sure,
    data::{Client, Cycles, Interval, Store},
};

/// The columns of the ratios.
const COLUMNS: [&str; 8] = [
    "client",
    "cycles, one task",
    "64 tasks",
    "names used once, one task",
    "64 tasks",
    "of names used again, one task",
    "64 tasks",
    "hand-over, in round trips",
];

/// The columns of herds.
const HERD: [&str; 7] = [
    "client",
    "clients on one name",
    "held for",
    "tries a grant",
    "to another client a second",
    "Jain's index",
    "longest wait",
];

/// The ratios, if some are more than those of the first table.
pub(super) fn detail(store: &Store) -> Option<String> {
    let mut table = Table::new(&COLUMNS);
    store
        .measured()
        .for_each(|client| table.row(&cells(client)));
    let has_more = |client: &Client| {
        let one = client.one.as_ref().and_then(of_raw);
        let hand_over = client.hand_over.as_ref();
        client.once_one.is_some()
            || one.is_some_and(|one| one.sure.is_some())
            || hand_over.is_some_and(|hand_over| hand_over.round_trips.is_some())
    };
    store.measured().any(has_more).then(|| table.text())
}

fn of_raw(cycles: &Cycles) -> Option<Interval> {
    Some(cycles.of_raw.as_ref()?.per_second)
}

fn cells(client: &Client) -> [String; COLUMNS.len()] {
    let of_raw = |cycles: &Option<Cycles>| cycles.as_ref().and_then(of_raw);
    let of_again = |cycles: &Option<Cycles>| cycles.as_ref()?.of_again;
    let hand_over = client.hand_over.as_ref();
    let figures = [
        of_raw(&client.one),
        of_raw(&client.many),
        of_raw(&client.once_one),
        of_raw(&client.once_many),
        of_again(&client.once_one),
        of_again(&client.once_many),
        hand_over.and_then(|hand_over| hand_over.round_trips),
    ];
    let [
        one,
        many,
        once_one,
        once_many,
        again_one,
        again_many,
        hand_over,
    ] = figures.map(|figure| figure.map_or_else(|| NONE.to_owned(), sure));
    let name = client.shown_name();
    [
        name, one, many, once_one, once_many, again_one, again_many, hand_over,
    ]
}

/// The herds, if there are some.
pub(super) fn herds(store: &Store) -> Option<String> {
    let mut table = Table::new(&HERD);
    for client in store.measured() {
        for herd in &client.herds {
            table.row(&[
                client.shown_name(),
                herd.clients.to_string(),
                format!("{} ms", herd.hold_ms),
                sure(herd.tries),
                sure(herd.moved_per_second),
                sure(herd.jain),
                format!("{:.0} ms", herd.longest_wait_ms),
            ]);
        }
    }
    let has_some = store.measured().any(|client| !client.herds.is_empty());
    has_some.then(|| table.text())
}
