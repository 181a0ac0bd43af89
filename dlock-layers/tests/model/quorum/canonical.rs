//! The state in the place of all that differ from it only in the order of nodes and of clients.

use super::state::{Entry, State};

/// Clients of one name are alike, and so are nodes.
pub(super) fn representative<const N: usize, const C: usize>(state: &State<N, C>) -> State<N, C> {
    let mut clients: [u8; C] = std::array::from_fn(|index| u8::try_from(index).unwrap_or_default());
    clients.sort_unstable_by_key(|client| {
        let client = usize::from(*client);
        let mut places = state.clients[client].places;
        places.sort_unstable();
        let owned = (0..N).filter(|node| state.is_of(*node, client)).count();
        (state.clients[client].number(), places, owned)
    });
    let mut next = *state;
    for (new, old) in clients.iter().enumerate() {
        let old = usize::from(*old);
        next.clients[new] = state.clients[old];
        for node in 0..N {
            if state.is_of(node, old) {
                let name = state.clients[old].name;
                let owner = u8::try_from(new).unwrap_or_default();
                next.nodes[node].entries[name] = Entry::Of(owner);
            }
        }
    }
    let by_client = next;
    let mut nodes: [u8; N] = std::array::from_fn(|index| u8::try_from(index).unwrap_or_default());
    nodes.sort_unstable_by_key(|node| {
        let node = usize::from(*node);
        let places = by_client.clients.map(|client| client.places[node]);
        (by_client.nodes[node].number(), places)
    });
    for (new, old) in nodes.iter().enumerate() {
        let old = usize::from(*old);
        next.nodes[new] = by_client.nodes[old];
        for (client, before) in next.clients.iter_mut().zip(&by_client.clients) {
            client.places[new] = before.places[old];
        }
    }
    next
}
