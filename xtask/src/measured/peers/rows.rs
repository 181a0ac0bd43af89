//! A table with a row for each client.

use super::{
    super::table::{NONE, Table},
    data::{Client, Store},
};

/// A row for each client that has one of the figures; none if no client has one.
pub(super) fn rows<const N: usize>(
    columns: &[&str],
    store: &Store,
    cells: impl Fn(&Client) -> [String; N],
) -> Option<String> {
    let mut table = Table::new(columns);
    let mut is_empty = true;
    for client in store.measured() {
        let cells = cells(client);
        if cells.iter().all(|cell| cell == NONE) {
            continue;
        }
        is_empty = false;
        let name = [client.shown_name()];
        table.row(&[&name[..], &cells].concat());
    }
    (!is_empty).then(|| table.text())
}
