//! Flaws of the store or of its client.

/// A flaw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// No flaw.
    None,
    /// A client that heard nothing takes its attempt for refused, and undoes nothing (K7, K9).
    TakesSilenceForNo,
    /// A client counts the ttl from the reply (K2).
    CountsFromReply,
    /// A client that hears nothing takes its lock for renewed (K2, K8).
    RenewsUnheard,
    /// A client takes its lock for renewed after any reply (K3, K8).
    RenewsBlindly,
    /// A counter of tokens goes with what is forgotten, and with a restart (K5).
    RestartsCount,
    /// A waiter keeps a place for good, and is granted the lock without a request for it (K6).
    QueuesTheDead,
    /// The store grants at once after it has forgotten its locks (K1).
    GrantsAtOnce,
}
