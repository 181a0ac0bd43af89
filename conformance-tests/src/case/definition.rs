//! One case of the suite.

use std::pin::Pin;

use dlock_verify::support::Outcome;

use super::{
    context::{CaseContext, Placement},
    profile::Profile,
};

/// One case of a clause; its context shuts down everything that it opened.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) needs: fn(&Profile) -> bool,
    pub(crate) run: for<'a> fn(&'a CaseContext) -> CaseFuture<'a>,
    /// Whether it counts polls, whose order only a single thread repeats.
    pub(crate) one_thread: bool,
    pub(crate) placement: Placement,
    /// Whether it sends too much to a store that others use.
    pub(crate) heavy: bool,
    pub(crate) size: Size,
}

/// The most that a case has at once, under a gentle load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Size {
    /// The clients.
    pub clients: u32,
    /// The locks that they hold or wait for.
    pub locks: u32,
}

impl Size {
    /// A holder, a second client and the observer, and a lock for each.
    pub(crate) const DEFAULT: Self = Self {
        clients: 3,
        locks: 3,
    };
}

pub(crate) type CaseFuture<'a> = Pin<Box<dyn Future<Output = Outcome> + 'a>>;

impl Case {
    pub(crate) fn on_one_thread(self) -> Self {
        Self {
            one_thread: true,
            ..self
        }
    }

    /// Sets the most that it has at once, under a gentle load.
    pub(crate) fn of_size(self, clients: u32, locks: u32) -> Self {
        let size = Size { clients, locks };
        Self { size, ..self }
    }

    pub(crate) fn heavy(self) -> Self {
        Self {
            heavy: true,
            ..self
        }
    }

    pub(crate) fn dedicated(self) -> Self {
        Self {
            placement: Placement::Dedicated,
            ..self
        }
    }
}

/// The case of a function: `case!(function)`, or `case!(function, Profile::needs_this)`.
macro_rules! case {
    ($function:ident) => {
        $crate::case::case!($function, |_| true)
    };
    ($function:ident, $needs:expr) => {
        $crate::case::Case {
            name: stringify!($function),
            needs: $needs,
            run: |context| Box::pin($function(context)),
            one_thread: false,
            placement: $crate::case::Placement::Shared,
            heavy: false,
            size: $crate::case::Size::DEFAULT,
        }
    };
}
pub(crate) use case;
