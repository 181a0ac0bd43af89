//! The faults of a client's side: of worker processes, and of their connections.

mod network;
mod process;

use std::sync::Arc;

use super::fault::Fault;

pub(super) use self::process::WRITES_LATE;

/// All of them; those of connections only where workers reach servers through proxies.
#[must_use]
pub fn client_side(has_proxies: bool) -> Vec<Arc<dyn Fault>> {
    let mut faults = process::all();
    if has_proxies {
        faults.extend(network::all());
    }
    faults
}
