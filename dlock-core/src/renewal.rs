//! One scheduler per locker: it renews what is due and ends what has expired.
//!
//! All holds stand in one table by the time at which they must be looked at. One task sleeps until
//! the first of them, at most [`LOOK_EVERY`]; the table is a plain map under a plain lock, so that a
//! guard can be dropped anywhere, also off-runtime.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

use crate::{
    base::lock::Lock,
    capabilities::Expiry,
    clock::{BootInstant, Clock, JumpDetector},
    hold::Hold,
    request::Renewal,
};

/// While anything is held, the scheduler looks at least this often whether the clock has jumped
/// ahead of its timers: the machine was suspended.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A renewal is due after this part of what remains at the latest, so that two more tries fit in.
const RENEW_PART: u32 = 3;

/// After a failed renewal the next try comes after this part of what remains,
const RETRY_PART: u32 = 8;

/// but not sooner than this, or a store that is down would be hammered near each deadline,
const RETRY_MIN: Duration = Duration::from_millis(10);

/// and not later than this, or a long lease would stay in doubt for minutes.
const RETRY_MAX: Duration = Duration::from_secs(5);

pub(crate) struct Schedule {
    clock: Clock,
    table: Lock<Table>,
    /// Wakes the task when something is due before it would look.
    sooner: Notify,
    serial: AtomicU64,
}

struct Table {
    holds: BTreeMap<(BootInstant, u64), Arc<Hold>>,
    /// When the task will look next.
    next_look: BootInstant,
    /// Whether anything was taken in since the task last looked.
    active: bool,
    /// Nothing is taken in any more.
    closed: bool,
    /// The task ends.
    stopped: bool,
}

impl Schedule {
    pub(crate) fn new(clock: Clock) -> Arc<Self> {
        let table = Table {
            holds: BTreeMap::new(),
            next_look: BootInstant::FOREVER,
            active: false,
            closed: false,
            stopped: false,
        };
        Arc::new(Self {
            clock,
            table: Lock::new(table),
            sooner: Notify::new(),
            serial: AtomicU64::new(0),
        })
    }

    /// A number for the next hold.
    pub(crate) fn serial(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes `hold` in; false when the locker is shut down.
    pub(crate) fn insert(&self, hold: &Arc<Hold>) -> bool {
        let Some(deadline) = hold.deadline() else {
            return true;
        };
        let due = if renews(hold) {
            first_renewal(hold.since, deadline)
        } else {
            deadline
        };
        let mut table = self.table.lock();
        if table.closed {
            return false;
        }
        table.put(due, hold.clone());
        table.active = true;
        self.look_by(&table, due);
        drop(table);
        // A loss that was told before the hold stood in the table did not find it there.
        if hold.deadline().is_none() {
            self.remove(hold);
        }
        true
    }

    /// Forgets `hold`.
    pub(crate) fn remove(&self, hold: &Hold) {
        let mut table = self.table.lock();
        table.take(hold);
    }

    /// Takes nothing in any more; all that is held, to be told so.
    pub(crate) fn close(&self) -> Vec<Arc<Hold>> {
        let mut table = self.table.lock();
        table.closed = true;
        table.holds.values().cloned().collect()
    }

    /// Ends the task.
    pub(crate) fn stop(&self) {
        self.table.lock().stopped = true;
        self.sooner.notify_one();
    }

    /// The task: ends after [`stop`](Self::stop).
    pub(crate) async fn run(self: Arc<Self>) {
        let mut jumps = JumpDetector::new(&self.clock);
        while let Some(next) = self.look() {
            let sleep = next.since(self.clock.now());
            tokio::select! {
                () = tokio::time::sleep(sleep) => {}
                () = self.sooner.notified() => {}
            }
            if jumps.jumped(&self.clock) {
                self.wake_all();
            }
        }
    }

    /// Ends what has expired and renews what is due; when to look next, or `None` when the task
    /// shall end.
    fn look(self: &Arc<Self>) -> Option<BootInstant> {
        let now = self.clock.now();
        let mut table = self.table.lock();
        if table.stopped {
            return None;
        }
        // What is over already is kept until the lock is free: the last hold ends the locker.
        let (mut expired, mut renewing, mut over) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(entry) = table
            .holds
            .first_entry()
            .filter(|entry| entry.key().0 <= now)
        {
            let ((due, _), hold) = entry.remove_entry();
            if hold.lease.attempt.state().expire(now.as_nanos()) {
                expired.push(hold);
            } else if let Some(deadline) = hold.deadline() {
                // Until the renewal is answered, the next thing to look at is the deadline.
                table.put(deadline, hold.clone());
                renewing.push((due, hold));
            } else {
                over.push(hold);
            }
        }
        let next = table.plan(now);
        drop(table);
        drop(over);
        for hold in expired {
            hold.lease.attempt.tell_expired();
        }
        for (due, hold) in renewing.into_iter().filter(|(_, hold)| renews(hold)) {
            hold.core.meters.renewal_lag(now.since(due));
            tokio::spawn(self.clone().renew(hold));
        }
        Some(next)
    }

    /// One renewal (K3).
    async fn renew(self: Arc<Self>, hold: Arc<Hold>) {
        let renewed = hold.renew().await.is_ok();
        let now = self.clock.now();
        let Some(deadline) = hold.deadline() else {
            return;
        };
        let next = if renewed {
            next_renewal(now, deadline)
        } else {
            next_try(now, deadline)
        };
        let mut table = self.table.lock();
        if table.take(&hold).is_some() {
            table.put(next, hold.clone());
            self.look_by(&table, next);
        }
    }

    /// Wakes the task if it would look after `due` only.
    fn look_by(&self, table: &Table, due: BootInstant) {
        if due < table.next_look {
            self.sooner.notify_one();
        }
    }

    fn wake_all(&self) {
        let holds: Vec<_> = self.table.lock().holds.values().cloned().collect();
        for hold in holds {
            hold.lease.attempt.wake();
        }
    }
}

/// Whether core renews `hold`.
fn renews(hold: &Hold) -> bool {
    hold.lease.renewal == Renewal::Auto && hold.core.capabilities.expiry != Expiry::Process
}

/// Spread over the second half of the period: locks that are taken together must not be renewed
/// together for ever.
fn first_renewal(now: BootInstant, deadline: BootInstant) -> BootInstant {
    let period = deadline.since(now) / RENEW_PART;
    now.after(period.mul_f64(rand::random_range(0.5..=1.0)))
}

fn next_renewal(now: BootInstant, deadline: BootInstant) -> BootInstant {
    let left = deadline.since(now);
    let period = (left / RENEW_PART).mul_f64(rand::random_range(0.75..=1.0));
    // Not at once, also if a store renews without moving the deadline; but in time, also if the ttl is
    // as short as that.
    now.after(period.max(RETRY_MIN.min(left / 2)))
}

fn next_try(now: BootInstant, deadline: BootInstant) -> BootInstant {
    let pause = (deadline.since(now) / RETRY_PART).clamp(RETRY_MIN, RETRY_MAX);
    now.after(pause).min(deadline)
}

impl Table {
    fn put(&mut self, due: BootInstant, hold: Arc<Hold>) {
        hold.due.store(due.as_nanos(), Ordering::Relaxed);
        self.holds.insert((due, hold.serial), hold);
    }

    /// Decides when to look next.
    fn plan(&mut self, now: BootInstant) -> BootInstant {
        let first = self.holds.first_key_value().map(|((due, _), _)| *due);
        // After a busy second the task looks once more even if nothing is held just now, or a loop of
        // short holds would wake it each time.
        let busy = std::mem::take(&mut self.active) || first.is_some();
        let tick = if busy {
            now.after(LOOK_EVERY)
        } else {
            BootInstant::FOREVER
        };
        self.next_look = first.map_or(tick, |first| first.min(tick));
        self.next_look
    }

    fn take(&mut self, hold: &Hold) -> Option<Arc<Hold>> {
        let due = BootInstant::from_nanos(hold.due.load(Ordering::Relaxed));
        self.holds.remove(&(due, hold.serial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{attempt::Attempt, cause::LostCause, guard::Guard, locker::Locker, memory::Memory};

    /// A loss is told in two steps: the state changes, then the hold is looked for. If the user drops
    /// everything between them, the scheduler may have the last hold in its hands.
    #[tokio::test(start_paused = true)]
    async fn the_last_hold_may_go_while_the_scheduler_looks() {
        let clock = Clock::pausable();
        let store = Memory::with_clock(clock.clone());
        let locks = Locker::builder(Arc::new(store))
            .clock(clock.clone())
            .build()
            .expect("locker");
        let guard = locks.acquire("x").no_renewal().await.expect("free");
        let (attempt, schedule) = parts(&guard);
        attempt.state().lose(LostCause::Removed);
        drop((guard, locks));
        clock.jump(Duration::from_secs(60));
        let (done, finished) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(schedule.look().is_some()));
        let in_time = finished.recv_timeout(Duration::from_secs(10));
        assert!(in_time.is_ok(), "the scheduler waits for its own lock");
    }

    fn parts(guard: &Guard) -> (Attempt, Arc<Schedule>) {
        let hold = guard.hold();
        (hold.lease.attempt.clone(), hold.core.schedule.clone())
    }
}
