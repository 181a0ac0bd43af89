//! What an acquire can ask for.

/// Whether other holders may have the lock at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// One holder alone.
    #[default]
    Exclusive,
    /// Any number of holders that all ask for it shared.
    Shared,
}

/// What a backend does when the lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// It answers `Contended`, after having asked the store once.
    Never,
    /// It waits until the lock is granted or the attempt is [cancelled](crate::backend::Attempt::cancelled). Core
    /// owns the time-out.
    UntilCancelled,
}

/// Whether the locker renews the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Renewal {
    /// The locker renews it until the guard ends.
    #[default]
    Auto,
    /// It is not renewed: it ends after its ttl, whatever else lives on.
    None,
}
