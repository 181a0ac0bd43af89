//! A simulation, step by step.

use std::{sync::Arc, time::Duration};

use dlock_core::{Clock, memory::Memory, simulation};

use super::{
    client::{Client, Parts},
    flaw::Flaw,
    network::Conditions,
    random::Random,
    workload::Shared,
};
use crate::{
    checker::check,
    history::{Access, Event, EventKind, FencedRegister, History, Recorder},
};

/// A step while clients work, in virtual milliseconds.
const STEP: u64 = 1;

/// A step while the clients come to their end.
const STEP_AT_END: u64 = 5;

/// A suspended client goes on within this, in virtual milliseconds.
const SUSPENDED_MAX: u64 = 180;

/// In so many of 1,000 steps a client is suspended.
const SUSPENDS: u64 = 4;

/// All locks are free after this, when the network works again: longer than the pauses between two tries of a
/// release, than a message that is late, and than the last holds and waits.
const SETTLES: u64 = 2_500;

/// The store's clock runs faster by one part in so many: as much as deadlines allow for (K2).
const DRIFT_DIVISOR: u32 = 100;

/// One schedule of a simulation.
#[derive(Clone, Debug)]
pub struct Simulation {
    seed: u64,
    clients: usize,
    millis: u64,
    ttl: Duration,
    conditions: Conditions,
    flaw: Option<Flaw>,
}

/// The outcome of a [`Simulation`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Run {
    /// The history.
    pub events: Vec<Event>,
    /// The accesses to the fenced register.
    pub accesses: Vec<Access>,
    /// The number of grants.
    pub grants: usize,
    /// The violations of the contract, a line each.
    pub violations: Vec<String>,
}

impl Simulation {
    /// Three clients for half a second, with leases of 60 ms, on a [bad](Conditions::BAD) network.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            clients: 3,
            millis: 500,
            ttl: Duration::from_millis(60),
            conditions: Conditions::BAD,
            flaw: None,
        }
    }

    /// Sets the number of clients.
    #[must_use]
    pub const fn clients(mut self, clients: usize) -> Self {
        self.clients = clients;
        self
    }

    /// Sets how long the clients work.
    #[must_use]
    pub const fn millis(mut self, millis: u64) -> Self {
        self.millis = millis;
        self
    }

    /// Sets the ttl of the locks.
    #[must_use]
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets the conditions of the network.
    #[must_use]
    pub const fn conditions(mut self, conditions: Conditions) -> Self {
        self.conditions = conditions;
        self
    }

    /// Gives the backend a flaw.
    #[must_use]
    pub const fn flaw(mut self, flaw: Flaw) -> Self {
        self.flaw = Some(flaw);
        self
    }

    /// Runs it, on this thread.
    ///
    /// # Panics
    ///
    /// When the system has no room for a runtime.
    #[must_use]
    pub fn run(self) -> Run {
        simulation::seed(Some(self.seed));
        let run = State::new(self).run();
        simulation::seed(None);
        run
    }
}

/// A simulation under way.
struct State {
    plan: Simulation,
    random: Random,
    clock: Clock,
    store_clock: Clock,
    store: Memory,
    now: u64,
    clients: Vec<Client>,
    history: Arc<History>,
    register: Arc<FencedRegister>,
    shared: Arc<Shared>,
}

impl State {
    #[expect(clippy::expect_used, reason = "the names are constants")]
    fn new(plan: Simulation) -> Self {
        let (clock, store_clock) = (Clock::manual(), Clock::manual());
        let mut state = Self {
            random: Random::new(plan.seed),
            store: Memory::with_clock(store_clock.clone()),
            store_clock,
            clock,
            plan,
            now: 0,
            clients: Vec::new(),
            history: Arc::default(),
            register: Arc::default(),
            shared: Arc::new(Shared::new().expect("valid names")),
        };
        for id in (0..).take(state.plan.clients) {
            let client = state.client(id);
            state.clients.push(client);
        }
        state
    }

    #[expect(
        clippy::expect_used,
        reason = "documented: without a runtime there is no simulation"
    )]
    fn client(&mut self, id: u32) -> Client {
        let history = self.history.clone();
        let record = move |event| history.record(event);
        let parts = Parts {
            store: self.store.clone(),
            clock: self.clock.clone(),
            ttl: self.plan.ttl,
            random: self.random.fork(),
            flaw: self.plan.flaw,
            recorder: Recorder::with_clock(id, self.clock.clone(), record),
            register: self.register.clone(),
            shared: self.shared.clone(),
        };
        let client = Client::start(parts).expect("a runtime");
        client.set(self.plan.conditions);
        client
    }

    fn run(mut self) -> Run {
        while self.now < self.plan.millis {
            if self.random.chance(SUSPENDS) {
                self.suspend();
            }
            self.step(STEP);
        }
        *self.shared.stops.lock() = true;
        for client in &mut self.clients {
            client.set(Conditions::PERFECT);
            client.suspended_until = 0;
        }
        let end = self.now + SETTLES;
        while self.now < end {
            self.step(STEP_AT_END);
        }
        self.finish()
    }

    fn suspend(&mut self) {
        let count = self.clients.len() as u64;
        let picked = usize::try_from(self.random.below(count)).unwrap_or(0);
        let until = self.now + self.random.below(SUSPENDED_MAX);
        if let Some(client) = self.clients.get_mut(picked) {
            client.suspended_until = until;
        }
    }

    /// Lets all clients run for so many milliseconds, in random order.
    fn step(&mut self, millis: u64) {
        self.now += millis;
        let step = Duration::from_millis(millis);
        self.clock.jump(step);
        self.store_clock.jump(step + step / DRIFT_DIVISOR);
        let mut order: Vec<usize> = (0..self.clients.len()).collect();
        for index in (1..order.len()).rev() {
            let other = self.random.below(index as u64 + 1);
            order.swap(index, usize::try_from(other).unwrap_or(0));
        }
        for index in order {
            let client = &mut self.clients[index];
            if client.suspended_until <= self.now {
                client.run_until(self.now);
            }
        }
    }

    fn finish(self) -> Run {
        let mut violations = std::mem::take(&mut *self.shared.violations.lock());
        if !self.clients.iter().all(Client::has_ended) {
            violations.push("a client waits for a lock that is free (K6)".to_owned());
        }
        let left = self.store.names();
        if !left.is_empty() {
            violations.push(format!("left behind in the store: {left:?} (K7, K9)"));
        }
        drop(self.clients);
        let (events, accesses) = (self.history.events(), self.register.log());
        violations.extend(check(&events, &accesses).iter().map(ToString::to_string));
        let is_grant = |event: &&Event| matches!(event.kind, EventKind::Granted { .. });
        Run {
            grants: events.iter().filter(is_grant).count(),
            events,
            accesses,
            violations,
        }
    }
}
