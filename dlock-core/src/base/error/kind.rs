//! The kind of an error, and whether its request may have happened.

/// The kind of an error, for a program to decide by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Another holder has the lock, and the wait is over.
    Contended,
    /// The attempt was cancelled: its caller dropped it, or its wait is over. Only backends see this kind.
    Cancelled,
    /// The lock was held and is not held any more.
    Lost,
    /// The store was not reachable, or did not answer in time; a later try may succeed.
    Unavailable,
    /// The store refused the request: wrong password, missing permission.
    Denied,
    /// A name, ttl, wait or note is not allowed.
    InvalidInput,
    /// A URL, configuration file or option is wrong.
    InvalidConfig,
    /// The backend does not support the requested operation.
    Unsupported,
    /// A defect in dlock, in a backend, or an answer of the store that makes no sense.
    Internal,
}

/// Whether the request that failed may have happened all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// The request did not happen, and nothing is left of it. A wait that ends just as its lock is granted is undone
    /// in the background (K9).
    None,
    /// The request may have happened: the answer is missing.
    Unknown,
}
