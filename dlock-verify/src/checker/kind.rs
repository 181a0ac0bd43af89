//! The checks.

use std::fmt;

/// The checks of a history, with their numbers in the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Check {
    /// The events of the history make sense (C0).
    History,
    /// No two holds exclude each other (C1).
    Exclusion,
    /// Tokens grow in the order of grants (C2).
    Order,
    /// The fenced register loses no update (C3).
    Register,
    /// The control register loses updates (C4).
    Control,
    /// A waiter is granted a lock that is free (C6).
    Liveness,
    /// A lock that is free is not refused as contended (C6b).
    Contention,
    /// Nothing is left in the store (C7).
    Residue,
    /// A loss is reported in time (C8).
    Loss,
    /// Of an attempt without effect nothing is in the store (C9).
    Effect,
}

impl Check {
    /// The number of the check: `C6b`.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::History => "C0",
            Self::Exclusion => "C1",
            Self::Order => "C2",
            Self::Register => "C3",
            Self::Control => "C4",
            Self::Liveness => "C6",
            Self::Contention => "C6b",
            Self::Residue => "C7",
            Self::Loss => "C8",
            Self::Effect => "C9",
        }
    }

    /// The clause of the contract that a violation breaks; none for what is wrong with the run.
    #[must_use]
    pub const fn clause(self) -> Option<&'static str> {
        match self {
            Self::History | Self::Control => None,
            Self::Exclusion => Some("K1"),
            Self::Order | Self::Register => Some("K5"),
            Self::Liveness | Self::Contention => Some("K6"),
            Self::Residue => Some("K12"),
            Self::Loss => Some("K8"),
            Self::Effect => Some("K9"),
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::History => "history",
            Self::Exclusion => "exclusion",
            Self::Order => "order of tokens",
            Self::Register => "fenced register",
            Self::Control => "control without tokens",
            Self::Liveness => "liveness",
            Self::Contention => "no false contention",
            Self::Residue => "residue",
            Self::Loss => "loss in time",
            Self::Effect => "effect none",
        };
        write!(f, "{} {name}", self.id())
    }
}
