//! Flaws of a backend, which a simulation must find.

/// A flaw of the backend. Those of core's own code are mutants of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flaw {
    /// The deadline of a grant counts from the reply (K2).
    DeadlineFromReply,
    /// The deadline of a renewal counts from the reply (K2).
    RenewalFromReply,
    /// A renewal succeeds without the store (K3).
    RenewBlindly,
    /// A release frees the lock of any holder (K4).
    ReleaseAny,
    /// Tokens shrink (K5).
    ShrinkingTokens,
    /// An attempt without a reply is not undone (K9).
    NoUndo,
}

impl Flaw {
    /// All flaws.
    pub const ALL: [Self; 6] = [
        Self::DeadlineFromReply,
        Self::RenewalFromReply,
        Self::RenewBlindly,
        Self::ReleaseAny,
        Self::ShrinkingTokens,
        Self::NoUndo,
    ];
}
