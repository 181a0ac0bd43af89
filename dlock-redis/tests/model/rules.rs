//! The setting of a walk, and the variant of the design that it walks through.

use crate::{fault::Fault, units::Micros};

/// How long a new history grants nothing, by the server's clock.
pub(crate) const GUARD: Micros = 300_000;

/// A counter that was written no longer ago than this has not been to another server and back
pub(crate) const FRESH: Micros = 20_000;

/// How long a change of roles takes at least: the new replica copies all data.
pub(crate) const SYNC: Micros = 40_000;

/// A record may have begun so long after now: a newer one has a clock that was set back since.
pub(crate) const AHEAD: Micros = 5_000;

/// How far the clock of a server is off.
pub(crate) const SKEW: Micros = 20_000;

/// How far a clock is set at once.
pub(crate) const LEAP: Micros = 700_000;

/// The events of a walk, in addition to lost and late messages, and the rules that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    /// Data are forgotten in every way that the design covers; the clocks of all servers agree.
    Agreed,
    /// The same, and each clock is off by up to [`SKEW`].
    Skewed,
    /// The same, and clocks are set back: tokens grow for each client only.
    SetBack,
    /// The same, and clocks are set forward: locks end early, tokens grow for each client only.
    SetForward,
    /// A lock alone is deleted, old data are put back under a running server, or a primary that was cut off goes
    /// on. There may be two holders, and tokens grow all the same.
    Excepted,
}

impl Setting {
    pub(crate) fn excludes(self) -> bool {
        !matches!(self, Self::SetForward | Self::Excepted)
    }

    /// Whether tokens grow from one client to the other, too.
    pub(crate) fn orders_all(self) -> bool {
        !matches!(self, Self::SetBack | Self::SetForward)
    }
}

/// A broken copy of the design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// The script takes the next number, at any time of the clock.
    NoClock,
    /// The client carries the server's clock on, and is off.
    CarriedClock,
    /// The client does not say which tokens it was given.
    NoLeast,
    /// The deadline counts from the reply.
    DeadlineFromReply,
    /// A release deletes any holder's lock.
    BlindRelease,
    /// A renewal renews any holder's lock.
    RenewalByName,
    /// An attempt that finds its lock gets a token that is not written.
    RetryDrawsToken,
    /// An attempt that finds its lock does not move its end.
    RetryKeepsEnd,
    /// The script knows of no history, and begins a missing counter at the clock.
    NoHistory,
    /// The script does not read the record, only whether there is a counter.
    HistoryNotCompared,
    /// A history that begins because the server is another one grants at once.
    NoGuardAfterRun,
    /// A history that begins because nothing is there grants at once.
    NoGuardAfterLoss,
    /// A server that was replaced and came back is the one that it was.
    RunOnly,
    /// The script trusts its history, however long ago the counter was written.
    NeverChecksAgain,
    /// The script that detects a promotion in between has written the counter.
    CounterNotRestored,
    /// The probe of a server does not read its counter.
    CounterNotChecked,
    /// Holders have a ttl above the guard.
    TtlAboveGuard,
    /// A server forgets that it was promoted (`repl-backlog-ttl`) before the guard is over.
    ForgetsAtOnce,
}

/// One walk's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) setting: Setting,
    mutant: Option<Mutant>,
    /// Nothing else goes wrong than this; anything, if it is empty.
    pub(crate) focus: &'static [Fault],
}

impl Rules {
    pub(crate) fn design(setting: Setting) -> Self {
        Self {
            setting,
            mutant: None,
            focus: &[],
        }
    }

    pub(crate) fn broken(mutant: Mutant, setting: Setting, focus: &'static [Fault]) -> Self {
        Self {
            setting,
            mutant: Some(mutant),
            focus,
        }
    }

    pub(crate) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }
}
