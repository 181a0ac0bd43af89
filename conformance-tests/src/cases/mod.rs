//! The cases: one file for each clause, at least one case in each.

mod k01_exclusion;
mod k02_deadline;
mod k03_renewal;
mod k04_release;
mod k05_failover;
mod k05_tokens;
mod k06_order;
mod k06_takeover;
mod k06_vanished;
mod k06_waiting;
mod k07_cancellation;
mod k08_forgotten;
mod k08_loss;
mod k08_unheard;
mod k09_ambiguity;
mod k09_silence;
mod k10_names;
mod k11_bad_input;
mod k12_residue;
mod k13_independence;
mod tools;

use std::pin::Pin;

use dlock_core::{Capabilities, Expiry, Fencing, Modes, Order, Waiting};

use crate::{
    outcome::Outcome,
    rig::Rig,
    target::{Extra, Reach, Target},
};

/// What a case is chosen by.
pub(crate) struct Profile {
    capabilities: Capabilities,
    processes: bool,
    backdoor: bool,
    extras: Vec<Extra>,
}

/// One case. It is done when its future is; what it opened through its rig is ended after it.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) needs: fn(&Profile) -> bool,
    pub(crate) run: for<'a> fn(&'a Rig) -> Running<'a>,
    /// Whether it counts steps, which only one thread makes in the same order each time.
    pub(crate) one_thread: bool,
    pub(crate) place: Place,
}

/// Where in the store a case is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Beside others, which it does not disturb.
    Shared,
    /// In a store that it may take down.
    Alone,
}

pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = Outcome> + 'a>>;

impl Case {
    fn on_one_thread(self) -> Self {
        Self {
            one_thread: true,
            ..self
        }
    }

    fn alone(self) -> Self {
        Self {
            place: Place::Alone,
            ..self
        }
    }
}

/// The case of a function: `case!(function)`, or `case!(function, Profile::needs_this)`.
macro_rules! case {
    ($function:ident) => {
        $crate::cases::case!($function, |_| true)
    };
    ($function:ident, $needs:expr) => {
        $crate::cases::Case {
            name: stringify!($function),
            needs: $needs,
            run: |rig| Box::pin($function(rig)),
            one_thread: false,
            place: $crate::cases::Place::Shared,
        }
    };
}
use case;

/// All cases with the clause that each is for.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, Case)> {
    let clauses = [
        ("k01_exclusion", k01_exclusion::cases()),
        ("k02_deadline", k02_deadline::cases()),
        ("k03_renewal", k03_renewal::cases()),
        ("k04_release", k04_release::cases()),
        ("k05_tokens", k05_tokens::cases()),
        ("k05_tokens", k05_failover::cases()),
        ("k06_waiting", k06_waiting::cases()),
        ("k06_waiting", k06_order::cases()),
        ("k06_waiting", k06_takeover::cases()),
        ("k06_waiting", k06_vanished::cases()),
        ("k07_cancellation", k07_cancellation::cases()),
        ("k08_loss", k08_loss::cases()),
        ("k08_loss", k08_unheard::cases()),
        ("k08_loss", k08_forgotten::cases()),
        ("k09_ambiguity", k09_ambiguity::cases()),
        ("k09_ambiguity", k09_silence::cases()),
        ("k10_names", k10_names::cases()),
        ("k11_bad_input", k11_bad_input::cases()),
        ("k12_residue", k12_residue::cases()),
        ("k13_independence", k13_independence::cases()),
    ];
    clauses
        .into_iter()
        .flat_map(|(clause, cases)| cases.into_iter().map(move |case| (clause, case)))
}

impl Profile {
    pub(crate) fn of(target: &dyn Target) -> Self {
        Self {
            capabilities: target.capabilities(),
            processes: target.reach() == Reach::Processes,
            backdoor: target.backdoor().is_some(),
            extras: target.extras().to_vec(),
        }
    }

    /// Workers can reach the store.
    fn processes(&self) -> bool {
        self.processes
    }

    /// Workers can reach the store, and it ends the holds of those that are stopped.
    fn processes_expire(&self) -> bool {
        self.processes && self.expires()
    }

    /// Workers can reach the store, and tokens grow.
    fn processes_and_tokens(&self) -> bool {
        self.processes && self.tokens()
    }

    fn backdoor(&self) -> bool {
        self.backdoor
    }

    fn has(&self, extra: Extra) -> bool {
        self.extras.contains(&extra)
    }

    /// The line to the store can fail.
    fn line(&self) -> bool {
        self.has(Extra::Through)
    }

    /// It can fail while a lock is removed.
    fn line_and_backdoor(&self) -> bool {
        self.line() && self.backdoor
    }

    /// It can fail while a session ends.
    fn line_and_sessions(&self) -> bool {
        self.line_and_backdoor() && self.has(Extra::EndSession)
    }

    fn forgets(&self) -> bool {
        self.backdoor && self.has(Extra::Forget)
    }

    fn forgets_safely(&self) -> bool {
        self.forgets() && self.has(Extra::ForgetSafely)
    }

    fn fails_over(&self) -> bool {
        self.backdoor && self.has(Extra::FailOver) && self.tokens()
    }

    fn shared(&self) -> bool {
        self.capabilities.modes == Modes::ExclusiveAndShared
    }

    fn exclusive_only(&self) -> bool {
        !self.shared()
    }

    fn tokens(&self) -> bool {
        self.capabilities.fencing == Fencing::Growing
    }

    fn shared_and_tokens(&self) -> bool {
        self.shared() && self.tokens()
    }

    fn expires_and_tokens(&self) -> bool {
        self.expires() && self.tokens()
    }

    fn fifo(&self) -> bool {
        self.capabilities.order == Order::Fifo
    }

    /// Waiters are not made to ask again and again.
    fn woken(&self) -> bool {
        self.capabilities.waiting != Waiting::Polled
    }

    /// A hold that nobody renews ends by itself.
    fn expires(&self) -> bool {
        self.capabilities.expiry != Expiry::Process
    }

    /// Each hold ends by itself, on its own.
    fn lease(&self) -> bool {
        self.capabilities.expiry == Expiry::Lease
    }
}
