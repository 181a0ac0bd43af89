//! A state: the nodes, and the clients with what they know of each node.

use std::hash::{Hash, Hasher};

/// The most names.
pub(crate) const NAMES: usize = 2;

/// The entry of a name in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Entry {
    Free,
    /// Of an acquire that was abandoned.
    Orphan,
    Of(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Node {
    pub(crate) entries: [Entry; NAMES],
    /// One counter for all names.
    pub(crate) counter: u8,
}

/// The knowledge of a client of its lock in one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Open,
    Held,
    /// Refused, or not answered.
    Without,
    Raised,
    /// The node has not said that it was raised, or that the entry is not the client's any more.
    NotRaised,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum At {
    Idle,
    Requesting,
    Raising,
    Held,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Client<const N: usize> {
    pub(crate) name: usize,
    pub(crate) at: At,
    pub(crate) places: [(Place, u8); N],
    pub(crate) token: u8,
    /// The largest token that was granted before this acquire began.
    pub(crate) floor: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State<const N: usize, const C: usize> {
    pub(crate) nodes: [Node; N],
    pub(crate) clients: [Client<N>; C],
    /// So many acquires are left.
    pub(crate) acquires: u8,
    pub(crate) forgets: u8,
    /// The tokens that were granted, by name: a bit for each.
    pub(crate) granted: [u64; NAMES],
}

impl Node {
    pub(crate) const EMPTY: Self = Self {
        entries: [Entry::Free; NAMES],
        counter: 0,
    };

    pub(super) fn number(&self) -> u32 {
        let entry = |entry: Entry| match entry {
            Entry::Free => 0,
            Entry::Orphan => 1,
            Entry::Of(owner) => 2 + owner,
        };
        u32::from_le_bytes([
            self.counter,
            entry(self.entries[0]),
            entry(self.entries[1]),
            0,
        ])
    }
}

impl<const N: usize> Client<N> {
    pub(crate) fn idle(name: usize) -> Self {
        Self {
            name,
            at: At::Idle,
            places: [(Place::Open, 0); N],
            token: 0,
            floor: 0,
        }
    }

    pub(crate) fn count(&self, place: Place) -> usize {
        self.places
            .iter()
            .filter(|(found, _)| *found == place)
            .count()
    }

    /// All but the places.
    pub(super) fn number(&self) -> u32 {
        let name = u8::try_from(self.name).unwrap_or_default();
        u32::from_le_bytes([name, self.at as u8, self.token, self.floor])
    }
}

impl<const N: usize, const C: usize> State<N, C> {
    pub(crate) fn is_of(&self, node: usize, client: usize) -> bool {
        let entry = self.nodes[node].entries[self.clients[client].name];
        matches!(entry, Entry::Of(owner) if usize::from(owner) == client)
    }

    /// With all entries of `client` as `entry`, and the client idle.
    pub(crate) fn ended(&self, client: usize, entry: Entry) -> Self {
        let mut next = *self;
        let name = self.clients[client].name;
        for node in 0..N {
            if self.is_of(node, client) {
                next.nodes[node].entries[name] = entry;
            }
        }
        next.clients[client] = Client::idle(name);
        next
    }
}

/// One number for each part: hashing is most of a search's work.
impl<const N: usize, const C: usize> Hash for State<N, C> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for node in &self.nodes {
            hasher.write_u32(node.number());
        }
        for client in &self.clients {
            hasher.write_u32(client.number());
            for (place, token) in &client.places {
                hasher.write_u16(u16::from_le_bytes([*place as u8, *token]));
            }
        }
        hasher.write_u16(u16::from_le_bytes([self.acquires, self.forgets]));
        for granted in self.granted {
            hasher.write_u64(granted);
        }
    }
}
