//! The first table of a store: each client beside the driver alone, and beside dlock.

use super::{
    cells::{cell, plain, short},
    data::{Client, Ratios, Store},
    rows::rows,
};

const COLUMNS: [&str; 10] = [
    "client",
    "client CPU, one task",
    "64 tasks",
    "server CPU, one task",
    "64 tasks",
    "cycles, one task",
    "64 tasks",
    "hand-over, of dlock's",
    "to another client, of dlock's",
    "Jain's index",
];

/// The table; none if nothing of it was measured.
pub(super) fn overview(store: &Store) -> Option<String> {
    let dlock = store.clients.iter().find(|client| client.name == "dlock");
    rows(&COLUMNS, store, |client| {
        let [one, many] =
            [&client.one, &client.many].map(|cycles| cycles.as_ref()?.of_raw.as_ref());
        let client_cpu = |cycles: &Ratios| cycles.client_cpu;
        let server_cpu = |cycles: &Ratios| cycles.server_cpu;
        let per_second = |cycles: &Ratios| cycles.per_second;
        let of_dlock = |of: fn(&Client) -> Option<f64>| cell(ratio(of, client, dlock), short);
        let contended = client.contended.as_ref();
        [
            cell(one.and_then(client_cpu), plain),
            cell(many.and_then(client_cpu), plain),
            cell(one.and_then(server_cpu), plain),
            cell(many.and_then(server_cpu), plain),
            cell(one.map(per_second), plain),
            cell(many.map(per_second), plain),
            of_dlock(|client| Some(client.hand_over.as_ref()?.median_ms)),
            of_dlock(|client| Some(client.contended.as_ref()?.moved_per_second.value)),
            cell(contended.map(|contended| contended.jain), plain),
        ]
    })
}

fn ratio(of: fn(&Client) -> Option<f64>, client: &Client, dlock: Option<&Client>) -> Option<f64> {
    Some(of(client)? / of(dlock?)?)
}
