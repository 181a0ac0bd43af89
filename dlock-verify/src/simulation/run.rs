//! A simulation, step by step.

use std::{sync::Arc, time::Duration};

use dlock_core::{Clock, LockName, backend::DistributedLock, memory::Memory, simulation};

use super::{
    client::{Client, Parts},
    conditions::Conditions,
    schedule::Simulation,
    workload::Shared,
};
use crate::{
    checker::{Bounds, Check, Facts, check},
    history::{Access, Event, EventKind, FencedRegister, History, Recorder},
    random::Random,
};

/// A step while clients work, in virtual milliseconds.
const STEP: u64 = 1;

/// A step while the clients come to their end.
const STEP_AT_END: u64 = 5;

/// A suspended client goes on within this, in virtual milliseconds.
const SUSPENDED_MAX: u64 = 180;

/// In so many of 1,000 steps a client is suspended.
const SUSPENDS: u64 = 4;

/// In so many of 1,000 steps the machine is suspended: its clock and the store's go on, its timers do not.
const SLEEPS: u64 = 1;

/// The machine is suspended for less than this, in virtual milliseconds.
const SLEEP_MAX: u64 = 150;

/// All locks are free after this, when the network works again: longer than the pauses between two tries of a
/// release, than a message that is late, and than the last holds and waits.
const SETTLES: u64 = 2_500;

/// All tasks of a locker have ended within this after its shutdown has begun: longer than the pause before a release
/// is tried again.
const SHUTS_DOWN: u64 = 20_000;

/// The store's clock runs faster by one part in so many: as much as deadlines allow for (K2).
const DRIFT_DIVISOR: u32 = 100;

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
            layer: self.plan.layer,
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
            if self.random.chance(SLEEPS) {
                self.sleep();
            }
            self.step(STEP);
        }
        *self.shared.stops.lock() = true;
        for client in &mut self.clients {
            client.set(Conditions::PERFECT);
            client.suspended_until = 0;
        }
        self.settle(SETTLES, |state| {
            state.clients.iter().all(Client::has_ended) && state.store.names().is_empty()
        });
        let is_idle = self.clients.iter().all(Client::has_ended);
        let left = self.store.names();
        self.clients.iter_mut().for_each(Client::shut_down);
        self.settle(SHUTS_DOWN, |state| {
            state.clients.iter().all(|client| client.running() == 0)
        });
        self.finish(is_idle, &left)
    }

    /// Lets all clients run until `is_over`, at most for so many milliseconds.
    fn settle(&mut self, millis: u64, is_over: impl Fn(&Self) -> bool) {
        let end = self.now + millis;
        while self.now < end && !is_over(self) {
            self.step(STEP_AT_END);
        }
    }

    /// Suspends the machine of all clients.
    fn sleep(&mut self) {
        self.record_all(&EventKind::Stopped);
        let millis = self.random.below(SLEEP_MAX);
        self.pass(millis);
        self.record_all(&EventKind::Resumed);
    }

    fn record_all(&self, kind: &EventKind) {
        let at = self.clock.now().as_nanos();
        for client in (0..).take(self.clients.len()) {
            self.history.record(Event::new(at, client, kind.clone()));
        }
    }

    /// Lets time pass for the machine and the store, not for timers.
    fn pass(&self, millis: u64) {
        let time = Duration::from_millis(millis);
        self.clock.jump(time);
        self.store_clock.jump(time + time / DRIFT_DIVISOR);
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
        self.pass(millis);
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

    fn finish(self, is_idle: bool, left: &[LockName]) -> Run {
        let mut violations = std::mem::take(&mut *self.shared.violations.lock());
        if !is_idle {
            violations.push("a client waits for a lock that is free (K6)".to_owned());
        }
        if !left.is_empty() {
            violations.push(format!("left behind in the store: {left:?} (K7, K9)"));
        }
        let running: usize = self.clients.iter().map(Client::running).sum();
        if running > 0 {
            violations.push(format!("{running} tasks run after the shutdown (K12)"));
        }
        drop(self.clients);
        let (events, accesses) = (self.history.events(), self.register.log());
        let mut facts: Facts = events.iter().collect();
        facts.fenced.clone_from(&accesses);
        let capabilities = (&self.store.capabilities()).into();
        let bounds = Bounds::new(self.plan.ttl, &capabilities);
        let report = check(&facts, &bounds);
        // A request that arrives late may take the lock when its client has gone on: no holder has it then.
        let is_judged = |check: Check| check != Check::Contention || self.plan.conditions.late == 0;
        let found = report.violations().filter(|found| is_judged(found.check()));
        violations.extend(found.map(ToString::to_string));
        let is_grant = |event: &&Event| matches!(event.kind, EventKind::Granted { .. });
        Run {
            grants: events.iter().filter(is_grant).count(),
            events,
            accesses,
            violations,
        }
    }
}
