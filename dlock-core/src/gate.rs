//! The queue in front of the store, inside one locker.
//!
//! Of all waiting attempts of a name, one is on the wire; the others wait in memory, first come
//! first served. So a thousand local waiters cost the store one. Shared attempts that stand next to
//! each other pass together. The gate is free while a local guard holds, or local hand-over would
//! starve other processes; `Never` does not pass it at all (K6).

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use tokio::sync::oneshot;

use crate::{attempt::Attempt, base::lock::Lock, error::Error, name::LockName, request::Mode};

#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<Lock<HashMap<LockName, Queue>>>);

/// The right of one attempt to be on the wire; dropping it lets the next one pass.
pub(crate) struct Pass {
    gate: Gate,
    name: LockName,
    /// Whether the store answered this attempt.
    answered: bool,
}

/// What [`Gate::enter`] gives.
pub(crate) enum Entry {
    Passed(Pass),
    /// The pass comes here. A receiver that is dropped gives up its place.
    Queued(oneshot::Receiver<Pass>),
}

struct Queue {
    /// How many attempts have passed and not left; at least one.
    passing: usize,
    /// The mode of those.
    mode: Mode,
    /// The one that passed last.
    on_wire: Attempt,
    waiting: VecDeque<Waiter>,
    /// At this length the cancelled waiters are swept out when the next one comes.
    sweep_at: usize,
}

struct Waiter {
    mode: Mode,
    attempt: Attempt,
    turn: oneshot::Sender<Pass>,
}

impl Gate {
    pub(crate) fn enter(&self, name: &LockName, mode: Mode, attempt: &Attempt) -> Entry {
        let mut queues = self.0.lock();
        let Some(queue) = queues.get_mut(name) else {
            queues.insert(name.clone(), Queue::new(mode, attempt.clone()));
            return Entry::Passed(self.pass(name));
        };
        queue.pass_over_the_gone();
        if queue.admits(mode) {
            queue.passing += 1;
            queue.on_wire = attempt.clone();
            return Entry::Passed(self.pass(name));
        }
        let (turn, turned) = oneshot::channel();
        queue.push(Waiter {
            mode,
            attempt: attempt.clone(),
            turn,
        });
        Entry::Queued(turned)
    }

    /// Why the attempt on the wire has got nothing yet, as far as is known.
    pub(crate) fn wait_error(&self, name: &LockName) -> Option<Error> {
        self.0.lock().get(name)?.on_wire.wait_error()
    }

    fn pass(&self, name: &LockName) -> Pass {
        Pass {
            gate: self.clone(),
            name: name.clone(),
            answered: false,
        }
    }

    fn leave(&self, name: &LockName, answered: bool) {
        let mut queues = self.0.lock();
        let Some(queue) = queues.get_mut(name) else {
            return;
        };
        queue.passing -= 1;
        if queue.passing > 0 {
            return;
        }
        let before = queue.on_wire.clone();
        let next = queue.next();
        if next.is_empty() {
            queues.remove(name);
        }
        drop(queues);
        for Waiter { attempt, turn, .. } in next {
            if answered {
                // The store can be asked: a wait that ends before the next answer is contended.
                attempt.copy_contention(&before);
            }
            // To a waiter that has gone meanwhile this drops the pass: the next one gets it.
            let _ = turn.send(self.pass(name));
        }
    }
}

impl Queue {
    /// Below this length a queue is not swept.
    const SWEEP_MIN: usize = 64;

    fn new(mode: Mode, on_wire: Attempt) -> Self {
        let waiting = VecDeque::new();
        Self {
            passing: 1,
            mode,
            on_wire,
            waiting,
            sweep_at: Self::SWEEP_MIN,
        }
    }

    fn admits(&self, mode: Mode) -> bool {
        self.waiting.is_empty() && self.mode == Mode::Shared && mode == Mode::Shared
    }

    /// Nobody waits behind one who has gone.
    fn pass_over_the_gone(&mut self) {
        while self
            .waiting
            .front()
            .is_some_and(|front| front.turn.is_closed())
        {
            self.waiting.pop_front();
        }
    }

    fn push(&mut self, waiter: Waiter) {
        if self.waiting.len() >= self.sweep_at {
            self.waiting.retain(|waiter| !waiter.turn.is_closed());
            self.sweep_at = Self::SWEEP_MIN.max(self.waiting.len() * 2);
        }
        self.waiting.push_back(waiter);
    }

    /// Takes out those whose turn it is: the first waiter, and with a shared one all shared ones
    /// right behind it.
    fn next(&mut self) -> Vec<Waiter> {
        let mut next: Vec<Waiter> = Vec::new();
        while let Some(front) = self.waiting.front() {
            let alone = next.is_empty() || (self.mode, front.mode) == (Mode::Shared, Mode::Shared);
            let gone = front.turn.is_closed();
            if !alone && !gone {
                break;
            }
            let Some(waiter) = self.waiting.pop_front() else {
                break;
            };
            if !gone {
                self.mode = waiter.mode;
                self.on_wire = waiter.attempt.clone();
                next.push(waiter);
            }
        }
        self.passing = next.len();
        next
    }
}

impl Pass {
    /// Leaves the gate, saying whether the store answered.
    pub(crate) fn leave(mut self, answered: bool) {
        self.answered = answered;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.gate.leave(&self.name, self.answered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> LockName {
        LockName::new("n").expect("name")
    }

    fn enter(gate: &Gate, mode: Mode) -> Entry {
        gate.enter(&name(), mode, &Attempt::new())
    }

    fn passed(entry: Entry) -> Pass {
        match entry {
            Entry::Passed(pass) => pass,
            Entry::Queued(mut turned) => turned.try_recv().expect("its turn"),
        }
    }

    fn queued(entry: Entry) -> oneshot::Receiver<Pass> {
        match entry {
            Entry::Passed(_) => panic!("passed at once"),
            Entry::Queued(turned) => turned,
        }
    }

    #[test]
    fn one_passes_and_the_others_follow_in_order() {
        let gate = Gate::default();
        let first = passed(enter(&gate, Mode::Exclusive));
        let mut second = queued(enter(&gate, Mode::Exclusive));
        let mut third = queued(enter(&gate, Mode::Exclusive));
        drop(first);
        assert!(third.try_recv().is_err());
        drop(second.try_recv().expect("second"));
        drop(third.try_recv().expect("third"));
        assert!(gate.0.lock().is_empty());
    }

    #[test]
    fn shared_ones_pass_together_up_to_the_next_exclusive_one() {
        let gate = Gate::default();
        let first = passed(enter(&gate, Mode::Shared));
        let second = passed(enter(&gate, Mode::Shared));
        let mut exclusive = queued(enter(&gate, Mode::Exclusive));
        let mut late = [0; 3].map(|_| queued(enter(&gate, Mode::Shared)));
        drop(first);
        assert!(exclusive.try_recv().is_err());
        drop(second);
        let exclusive = exclusive.try_recv().expect("exclusive");
        assert!(late[0].try_recv().is_err());
        drop(exclusive);
        let passes = late
            .each_mut()
            .map(|turned| turned.try_recv().expect("shared"));
        drop(passes);
        assert!(gate.0.lock().is_empty());
    }

    #[test]
    fn the_cancelled_are_passed_over_and_swept_out() {
        let gate = Gate::default();
        let first = passed(enter(&gate, Mode::Exclusive));
        for _ in 0..10_000 {
            drop(queued(enter(&gate, Mode::Exclusive)));
        }
        assert!(gate.0.lock()[&name()].waiting.len() <= 2 * Queue::SWEEP_MIN);
        let mut last = queued(enter(&gate, Mode::Exclusive));
        drop(first);
        drop(last.try_recv().expect("last"));
        assert!(gate.0.lock().is_empty());
    }

    #[test]
    fn a_pass_sent_to_one_who_left_goes_on_to_the_next() {
        let gate = Gate::default();
        let first = passed(enter(&gate, Mode::Exclusive));
        let second = queued(enter(&gate, Mode::Exclusive));
        let mut third = queued(enter(&gate, Mode::Exclusive));
        drop(first);
        drop(second);
        assert!(third.try_recv().is_ok());
    }
}
