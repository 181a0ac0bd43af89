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
}

pub(crate) type CaseFuture<'a> = Pin<Box<dyn Future<Output = Outcome> + 'a>>;

impl Case {
    pub(crate) fn on_one_thread(self) -> Self {
        Self {
            one_thread: true,
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
        }
    };
}
pub(crate) use case;
