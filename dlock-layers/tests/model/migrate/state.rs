//! A state: the processes, and the stores with their entries of one name.

use std::hash::{Hash, Hasher};

use super::rules::{Stage, Url};

/// The progress of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// Not running.
    Down,
    Idle,
    /// The process has the lock of its first store, or has passed that over, and wants the one of the second store.
    First,
    /// The process has the locks that it needs, and has not read the record.
    Taken,
    /// The record says that the locks of the old store count.
    ReadArriving,
    /// The record says that the locks of the new store count.
    ReadArrived,
    Held,
}

/// A lock of a process in one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    None,
    Held,
    /// The deadline has passed, and the store may have the entry still.
    Lapsed,
    /// The store has ended it, too.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) url: Url,
    pub(crate) at: At,
    pub(crate) parts: [Part; 2],
    pub(crate) tokens: [u8; 2],
    /// With `migrate:`: that the switch is done.
    pub(crate) knows: bool,
    /// That the old store was open a moment ago. Its proof that the old store counts.
    pub(crate) proof: bool,
    /// The stores that its hold depends on.
    pub(crate) counts: [bool; 2],
}

/// The entry of the name in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Free,
    /// Of an acquire or a hold that was abandoned, until it expires.
    Orphan,
    Of(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State<const N: usize> {
    pub(crate) processes: [Process; N],
    pub(crate) entries: [Entry; 2],
    /// Whether a store answers.
    pub(crate) up: [bool; 2],
    /// The last token of each store.
    pub(crate) counters: [u8; 2],
    pub(crate) stage: Stage,
    /// The token of the last grant.
    pub(crate) last: u8,
}

impl Process {
    /// A process that does nothing, and knows nothing yet.
    pub(crate) fn idle(url: Url) -> Self {
        Self {
            url,
            at: At::Idle,
            parts: [Part::None; 2],
            tokens: [0; 2],
            knows: false,
            proof: false,
            counts: [false; 2],
        }
    }

    pub(crate) fn has_lost_a_part(&self) -> bool {
        let is_lost = |part: &Part| matches!(part, Part::Lapsed | Part::Gone);
        self.parts.iter().any(is_lost)
    }

    /// As a number: no two processes have the same.
    fn number(&self) -> u32 {
        let flags = [self.knows, self.proof, self.counts[0], self.counts[1]];
        let flags = flags
            .iter()
            .fold(0, |all, flag| all << 1 | u32::from(*flag));
        let parts = self
            .parts
            .iter()
            .fold(0, |all, part| all << 2 | *part as u32);
        let tokens = u32::from(self.tokens[0]) << 8 | u32::from(self.tokens[1]);
        tokens << 16 | (self.url as u32) << 11 | (self.at as u32) << 8 | parts << 4 | flags
    }
}

impl<const N: usize> State<N> {
    pub(crate) fn new(processes: [Process; N], stage: Stage) -> Self {
        Self {
            processes,
            entries: [Entry::Free; 2],
            up: [true; 2],
            counters: [0; 2],
            stage,
            last: 0,
        }
    }

    /// With another state of one process.
    pub(crate) fn with(&self, index: usize, process: Process) -> Self {
        let mut next = *self;
        next.processes[index] = process;
        next
    }

    pub(crate) fn is_of(&self, store: usize, index: usize) -> bool {
        matches!(self.entries[store], Entry::Of(owner) if usize::from(owner) == index)
    }

    /// With the processes in order: which is which does not matter.
    pub(crate) fn sorted(&self) -> Self {
        let mut order: [u8; N] =
            std::array::from_fn(|index| u8::try_from(index).unwrap_or_default());
        let place = |index: u8| {
            let index = usize::from(index);
            let owns = u32::from(self.is_of(0, index)) << 1 | u32::from(self.is_of(1, index));
            (self.processes[index].number(), owns)
        };
        order.sort_unstable_by_key(|index| place(*index));
        let mut next = *self;
        for (new, old) in order.iter().enumerate() {
            next.processes[new] = self.processes[usize::from(*old)];
            for store in 0..2 {
                if self.is_of(store, usize::from(*old)) {
                    next.entries[store] = Entry::Of(u8::try_from(new).unwrap_or_default());
                }
            }
        }
        next
    }
}

/// One number for each part: hashing is most of a search's work.
impl<const N: usize> Hash for State<N> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for process in &self.processes {
            hasher.write_u32(process.number());
        }
        let entry = |entry: Entry| match entry {
            Entry::Free => 0,
            Entry::Orphan => 1,
            Entry::Of(owner) => 2 + owner,
        };
        let up = u8::from(self.up[0]) << 1 | u8::from(self.up[1]);
        let small = [
            entry(self.entries[0]),
            entry(self.entries[1]),
            up,
            self.stage as u8,
        ];
        hasher.write_u32(u32::from_le_bytes(small));
        let tokens = [self.counters[0], self.counters[1], self.last, 0];
        hasher.write_u32(u32::from_le_bytes(tokens));
    }
}
