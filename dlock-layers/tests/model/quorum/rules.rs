//! The setting of a search, and the variant of the design that it searches.

/// A broken copy of the design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// The largest token is the grant's, and nothing is written back.
    NoRaise,
    /// A node raises its counter for a client that has no entry any more, and says so.
    BlindRaise,
    /// The grant counts when one node has been raised.
    OneRaise,
    /// The token is the smallest of the nodes.
    SmallestToken,
    /// One node is enough, and one raise.
    NoMajority,
    /// A node that forgets an entry forgets its counter, too.
    CounterForgotten,
}

/// One search's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// So many nodes have to hold the lock.
    pub(crate) need: usize,
    /// Clients take one of so many names, in turns; two at most.
    pub(crate) names: usize,
    /// So many acquires there are in all.
    pub(crate) acquires: u8,
    /// So many entries of living clients are forgotten.
    pub(crate) forgets: u8,
    pub(crate) crashes: bool,
    pub(crate) lost_replies: bool,
    pub(crate) mutant: Option<Mutant>,
}

impl Rules {
    /// Three nodes, of which two are needed, with all faults.
    pub(crate) const DESIGN: Self = Self {
        need: 2,
        names: 1,
        acquires: 3,
        forgets: 0,
        crashes: true,
        lost_replies: true,
        mutant: None,
    };

    pub(crate) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }
}
