//! The table of the clients that want one name.

use super::{
    super::table::{NONE, Table},
    cells::{cell, short, sure},
    data::{Shares, Store},
};

const COLUMNS: [&str; 8] = [
    "client",
    "clients on one name",
    "held for",
    "to another client a second",
    "Jain's index",
    "shares",
    "longest wait",
    "tries a grant",
];

/// The clients of the workload `contention`, which hold for no time.
const CLIENTS: &str = "16";

/// The 16 clients, and the herds; none if there are none.
pub(super) fn contention(store: &Store) -> Option<String> {
    let mut table = Table::new(&COLUMNS);
    let mut is_empty = true;
    for client in store.measured() {
        if let Some(contended) = &client.contended {
            is_empty = false;
            table.row(&[
                client.shown_name(),
                CLIENTS.to_owned(),
                "0 ms".to_owned(),
                sure(contended.moved_per_second),
                sure(contended.jain),
                cell(contended.shares, shares),
                wait(contended.longest_wait_ms),
                NONE.to_owned(),
            ]);
        }
        for herd in &client.herds {
            is_empty = false;
            table.row(&[
                client.shown_name(),
                herd.clients.to_string(),
                format!("{} ms", herd.hold_ms),
                sure(herd.moved_per_second),
                sure(herd.jain),
                cell(herd.shares, shares),
                wait(herd.longest_wait_ms),
                sure(herd.tries),
            ]);
        }
    }
    (!is_empty).then(|| table.text())
}

fn shares(shares: Shares) -> String {
    format!("{} to {}", short(shares.least), short(shares.greatest))
}

fn wait(millis: f64) -> String {
    format!("{millis:.0} ms")
}
