//! The options of an acquire that a backend sees.

/// Whether other holders may have the lock at the same time.
///
/// Exhaustive: each backend must decide about a new variant, so one is a breaking change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "each backend must decide about each variant"
)]
pub enum Mode {
    /// One holder alone.
    #[default]
    Exclusive,
    /// Any number of holders that all take the lock shared.
    Shared,
}

/// The backend's behaviour when the lock is taken.
///
/// Exhaustive: each backend must decide about a new variant, so one is a breaking change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "each backend must decide about each variant"
)]
pub enum Wait {
    /// Returns `Contended`, after one try.
    Never,
    /// Waits until the lock is granted or the attempt is [cancelled](crate::backend::Attempt::cancelled).
    /// Core owns the time-out.
    UntilCancelled,
}

/// Whether the locker renews the lock.
///
/// Exhaustive: each backend must decide about a new variant, so one is a breaking change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "each backend must decide about each variant"
)]
pub enum Renewal {
    /// The locker renews the lock until the guard ends.
    #[default]
    Auto,
    /// The lock ends after its ttl, even if its guard lives on.
    None,
}

impl Renewal {
    /// A renewal is due after this part of the time that *remains* at the latest: a third, so that two more tries fit
    /// in. The first one is due between a sixth and a third of the ttl, at random.
    pub const DUE_PART: u32 = 3;
}
