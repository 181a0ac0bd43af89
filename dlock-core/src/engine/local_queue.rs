//! The queue in front of the store, inside one locker.
//!
//! Of all waiting attempts of a name, one is on the wire; the others wait in memory, first come
//! first served. So a thousand local waiters cost the store one. Shared attempts that stand next to
//! each other are admitted together. The next attempt is admitted while a local
//! guard still holds the lock: hand-over inside the locker would starve other processes. `Never` bypasses the queue (K6).

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use foldhash::fast::RandomState;
use tokio::sync::oneshot;

use crate::{
    backend::{attempt::Attempt, options::Mode},
    base::{error::Error, lock::Lock, name::LockName},
};

#[derive(Clone, Default)]
pub(crate) struct LocalQueue(Arc<Lock<HashMap<LockName, Queue, RandomState>>>);

/// The right of one attempt to be on the wire; dropping it admits the next one.
pub(crate) struct Permit {
    queues: LocalQueue,
    name: LockName,
    /// Whether the store answered this attempt.
    answered: bool,
}

/// The outcome of [`LocalQueue::enter`].
pub(crate) enum Admission {
    Admitted(Permit),
    /// The permit is sent here. A waiter that drops its receiver leaves the queue.
    Queued(oneshot::Receiver<Permit>),
}

struct Queue {
    /// How many attempts are admitted and have not left; at least one.
    admitted: usize,
    /// The mode of those.
    mode: Mode,
    /// The one that was admitted last.
    on_wire: Attempt,
    waiting: VecDeque<Waiter>,
    /// The length at which cancelled waiters are swept out when the next one comes.
    sweep_at: usize,
}

struct Waiter {
    mode: Mode,
    attempt: Attempt,
    turn: oneshot::Sender<Permit>,
}

impl LocalQueue {
    pub(crate) fn enter(&self, name: &LockName, mode: Mode, attempt: &Attempt) -> Admission {
        let mut queues = self.0.lock();
        let Some(queue) = queues.get_mut(name) else {
            queues.insert(name.clone(), Queue::new(mode, attempt.clone()));
            return Admission::Admitted(self.permit(name));
        };
        queue.drop_cancelled();
        if queue.admits(mode) {
            queue.admitted += 1;
            queue.on_wire = attempt.clone();
            return Admission::Admitted(self.permit(name));
        }
        let (turn, turned) = oneshot::channel();
        queue.push(Waiter {
            mode,
            attempt: attempt.clone(),
            turn,
        });
        Admission::Queued(turned)
    }

    /// Why the attempt on the wire has got nothing yet, as far as is known.
    pub(crate) fn wait_error(&self, name: &LockName) -> Option<Error> {
        self.0.lock().get(name)?.on_wire.wait_error()
    }

    fn permit(&self, name: &LockName) -> Permit {
        Permit {
            queues: self.clone(),
            name: name.clone(),
            answered: false,
        }
    }

    fn leave(&self, name: &LockName, answered: bool) {
        let mut queues = self.0.lock();
        let Some(queue) = queues.get_mut(name) else {
            return;
        };
        queue.admitted -= 1;
        if queue.admitted > 0 {
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
                // The store answers requests: a wait that ends before the next answer is contended.
                attempt.copy_contention(&before);
            }
            // If the waiter was cancelled, the permit is dropped here: the next one gets it.
            let _ = turn.send(self.permit(name));
        }
    }
}

impl Queue {
    /// Below this length a queue is not swept.
    const SWEEP_MIN: usize = 64;

    fn new(mode: Mode, on_wire: Attempt) -> Self {
        let waiting = VecDeque::new();
        Self {
            admitted: 1,
            mode,
            on_wire,
            waiting,
            sweep_at: Self::SWEEP_MIN,
        }
    }

    fn admits(&self, mode: Mode) -> bool {
        self.waiting.is_empty() && self.mode == Mode::Shared && mode == Mode::Shared
    }

    /// Removes cancelled waiters from the front: no attempt waits behind one.
    fn drop_cancelled(&mut self) {
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

    /// Takes out the waiters whose turn it is: the first one, and with a shared one all shared ones
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
        self.admitted = next.len();
        next
    }
}

impl Permit {
    /// Gives the permit back, and says whether the store answered.
    pub(crate) fn leave(mut self, answered: bool) {
        self.answered = answered;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.queues.leave(&self.name, self.answered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> LockName {
        LockName::new("n").expect("name")
    }

    fn enter(queues: &LocalQueue, mode: Mode) -> Admission {
        queues.enter(&name(), mode, &Attempt::new())
    }

    fn admitted(entry: Admission) -> Permit {
        match entry {
            Admission::Admitted(permit) => permit,
            Admission::Queued(mut turned) => turned.try_recv().expect("its turn"),
        }
    }

    fn queued(entry: Admission) -> oneshot::Receiver<Permit> {
        match entry {
            Admission::Admitted(_) => panic!("admitted at once"),
            Admission::Queued(turned) => turned,
        }
    }

    #[test]
    fn one_is_admitted_and_the_others_follow_in_order() {
        let queues = LocalQueue::default();
        let first = admitted(enter(&queues, Mode::Exclusive));
        let mut second = queued(enter(&queues, Mode::Exclusive));
        let mut third = queued(enter(&queues, Mode::Exclusive));
        drop(first);
        assert!(third.try_recv().is_err());
        drop(second.try_recv().expect("second"));
        drop(third.try_recv().expect("third"));
        assert!(queues.0.lock().is_empty());
    }

    #[test]
    fn shared_ones_are_admitted_together_up_to_the_next_exclusive_one() {
        let queues = LocalQueue::default();
        let first = admitted(enter(&queues, Mode::Shared));
        let second = admitted(enter(&queues, Mode::Shared));
        let mut exclusive = queued(enter(&queues, Mode::Exclusive));
        let mut late = [0; 3].map(|_| queued(enter(&queues, Mode::Shared)));
        drop(first);
        assert!(exclusive.try_recv().is_err());
        drop(second);
        let exclusive = exclusive.try_recv().expect("exclusive");
        assert!(late[0].try_recv().is_err());
        drop(exclusive);
        let permits = late
            .each_mut()
            .map(|turned| turned.try_recv().expect("shared"));
        drop(permits);
        assert!(queues.0.lock().is_empty());
    }

    #[test]
    fn the_cancelled_are_passed_over_and_swept_out() {
        let queues = LocalQueue::default();
        let first = admitted(enter(&queues, Mode::Exclusive));
        for _ in 0..10_000 {
            drop(queued(enter(&queues, Mode::Exclusive)));
        }
        assert!(queues.0.lock()[&name()].waiting.len() <= 2 * Queue::SWEEP_MIN);
        let mut last = queued(enter(&queues, Mode::Exclusive));
        drop(first);
        drop(last.try_recv().expect("last"));
        assert!(queues.0.lock().is_empty());
    }

    #[test]
    fn a_permit_sent_to_one_who_left_goes_on_to_the_next() {
        let queues = LocalQueue::default();
        let first = admitted(enter(&queues, Mode::Exclusive));
        let second = queued(enter(&queues, Mode::Exclusive));
        let mut third = queued(enter(&queues, Mode::Exclusive));
        drop(first);
        drop(second);
        assert!(third.try_recv().is_ok());
    }
}
