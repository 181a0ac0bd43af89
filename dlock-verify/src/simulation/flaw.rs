//! Flaws of a backend, which a simulation must find.

/// A flaw of the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flaw {
    /// Deadlines count from the reply (K2).
    DeadlineFromReply,
    /// A renewal succeeds without the store (K3).
    RenewBlindly,
    /// A release frees the lock of any holder (K4).
    ReleaseAny,
    /// Tokens shrink (K5).
    ShrinkingTokens,
    /// An attempt without a reply is not undone (K9).
    NoUndo,
}
