//! The setting of a search, and the variant of the design that it searches.

/// The store that a process begins with. Also an index.
pub(crate) const OLD: usize = 0;
pub(crate) const NEW: usize = 1;

/// The URL of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Url {
    Old,
    Both,
    New,
}

/// The records of both stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// `leaving` and `arriving`.
    Arriving,
    /// `closed` and `arriving`: the old store is closed to processes that use it alone.
    Closed,
    /// `closed` or `left`, and `arrived`: the switch.
    Arrived,
}

/// How it is known that no process uses the old store alone at the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Barrier {
    /// People see to it.
    People,
    /// A process that uses the old store alone is granted locks, and holds them, only while it has proof that the store
    /// is open.
    Stores,
}

/// A broken copy of the design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// The switch, while a process uses the old store alone.
    SwitchTooEarly,
    /// A process may connect to the old store alone after it was closed.
    OldAloneConnects,
    /// A process may connect to the new store alone before the switch.
    NewAloneConnects,
    /// The record is read before the locks are held.
    ReadsBeforeLocks,
    /// No record: the token is chosen by configuration, and there are two of them.
    NoRecord,
    /// The new store may be missing before the switch.
    NewIsOptional,
    /// A silent old store is passed over though the switch is not known.
    SkipsUnread,
    /// The grant does not check whether both locks are still held.
    LostPartGranted,
    /// The deadline is that of the new store alone.
    DeadlineOfNew,
    /// A renewal lets go of the old store without a read of the record.
    DropsOldUnread,
    /// The token is not compared with those after the switch.
    TokenUnchecked,
    /// The new store is taken first by every second process.
    OtherOrder,
    /// The switch does not wait until no process can have found the old store open.
    SwitchDoesNotWait,
    /// A process goes on after its proof that the old store is open has run out.
    ProofForgotten,
}

impl Mutant {
    /// Whether processes differ by their index.
    pub(crate) fn is_by_index(self) -> bool {
        matches!(self, Self::NoRecord | Self::OtherOrder)
    }
}

/// One search's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// The stage that it begins with.
    pub(crate) begins: Stage,
    pub(crate) barrier: Barrier,
    /// Whether processes get other URLs, back and forth.
    pub(crate) moves: bool,
    /// Whether a wait can end without the lock.
    pub(crate) waits_end: bool,
    pub(crate) outages: bool,
    pub(crate) crashes: bool,
    pub(crate) lapses: bool,
    pub(crate) lost_replies: bool,
    /// So many entries each store makes at most; 0 is without a bound and without tokens.
    pub(crate) entries_max: u8,
    /// The `token_base` of the new store.
    pub(crate) base: u8,
    pub(crate) mutant: Option<Mutant>,
}

impl Rules {
    /// A whole move, with all faults.
    pub(crate) const DESIGN: Self = Self {
        begins: Stage::Arriving,
        barrier: Barrier::People,
        moves: true,
        waits_end: true,
        outages: true,
        crashes: true,
        lapses: true,
        lost_replies: true,
        entries_max: 0,
        base: 100,
        mutant: None,
    };

    /// Processes keep their URLs.
    pub(crate) const FIXED: Self = Self {
        moves: false,
        ..Self::DESIGN
    };

    pub(crate) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }
}
