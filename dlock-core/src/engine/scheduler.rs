//! One scheduler per locker: it renews what is due and ends what has expired.
//!
//! It keeps all held locks in one ordered map, by their next due time: the renewal, or the deadline. One
//! task sleeps until the first, for [`TICK_EVERY`] at the most. The map is plain, under a plain lock, so
//! that a guard can be dropped anywhere, also off-runtime.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

use crate::{
    backend::{attempt::Attempt, options::Renewal},
    base::{
        clock::{BootInstant, Clock, JumpDetector},
        error::Result,
        lock::Lock,
        random,
    },
    engine::metrics::Metrics,
};

/// While anything is held, the scheduler checks at least this often whether the clock has jumped
/// ahead of its timers: the machine was suspended.
const TICK_EVERY: Duration = Duration::from_secs(1);

/// The age of the oldest hold is reported no more often than this. Renewals of many holds wake the task often.
const OLDEST_EVERY: Duration = Duration::from_millis(500);

/// A failed renewal is tried again after this part of the remaining time.
const RETRY_PART: u32 = 8;

/// The shortest pause after a failed renewal. A store that is down would be hammered near each deadline.
const RETRY_MIN: Duration = Duration::from_millis(10);

/// The longest pause after a failed renewal. The state of a long lease would stay unknown for minutes.
const RETRY_MAX: Duration = Duration::from_secs(5);

/// A hold, as the scheduler needs it.
pub(crate) trait Renewable: Send + Sync + 'static {
    /// The hold's entry in the schedule.
    fn entry(&self) -> &ScheduleEntry;

    /// The attempt that was granted: its state, and what is notified of its end.
    fn attempt(&self) -> &Attempt;

    /// Since when it is held.
    fn since(&self) -> BootInstant;

    /// Whether core renews it.
    fn is_renewed(&self) -> bool;

    /// Renews it (K3), `lag` after that was due.
    fn start_renewal(
        self: Arc<Self>,
        lag: Duration,
    ) -> Pin<Box<dyn Future<Output = Result<()>> + Send>>;
}

/// The key of a hold in the scheduler's map.
pub(crate) struct ScheduleEntry {
    /// Distinguishes holds of one due time.
    serial: u64,
    /// The time at which the hold is due, in nanoseconds; written under the map's lock only.
    due: AtomicU64,
}

pub(crate) struct Scheduler {
    clock: Clock,
    metrics: Arc<Metrics>,
    table: Lock<Table>,
    /// Wakes the task when something is due before its next tick.
    sooner: Notify,
    serial: AtomicU64,
}

struct Table {
    holds: BTreeMap<(BootInstant, u64), Arc<dyn Renewable>>,
    /// The time of the next tick.
    next_tick: BootInstant,
    /// Whether anything was inserted since the last tick.
    active: bool,
    /// Whether the scheduler is closed: nothing is inserted any more.
    closed: bool,
    /// The task ends.
    stopped: bool,
}

impl Scheduler {
    pub(crate) fn new(clock: Clock, metrics: Arc<Metrics>) -> Arc<Self> {
        let table = Table {
            holds: BTreeMap::new(),
            next_tick: BootInstant::FOREVER,
            active: false,
            closed: false,
            stopped: false,
        };
        Arc::new(Self {
            clock,
            metrics,
            table: Lock::new(table),
            sooner: Notify::new(),
            serial: AtomicU64::new(0),
        })
    }

    /// The entry of a hold that is to be inserted.
    pub(crate) fn new_entry(&self) -> ScheduleEntry {
        ScheduleEntry {
            serial: self.serial.fetch_add(1, Ordering::Relaxed),
            due: AtomicU64::new(0),
        }
    }

    /// Inserts `hold`; false when the locker is shut down.
    pub(crate) fn insert(&self, hold: Arc<dyn Renewable>) -> bool {
        let Some(deadline) = hold.attempt().deadline() else {
            return true;
        };
        let due = if hold.is_renewed() {
            first_renewal(hold.since(), deadline)
        } else {
            deadline
        };
        let mut table = self.table.lock();
        if table.closed {
            return false;
        }
        table.put(due, hold.clone());
        table.active = true;
        self.tick_by(&table, due);
        drop(table);
        // A loss that was reported before the hold was in the table did not find it there.
        if hold.attempt().deadline().is_none() {
            self.remove(hold.entry());
        }
        true
    }

    /// Removes the hold with this entry, if it is there.
    pub(crate) fn remove(&self, entry: &ScheduleEntry) {
        let mut table = self.table.lock();
        table.take(entry);
    }

    /// All that are held.
    pub(crate) fn holds(&self) -> Vec<Arc<dyn Renewable>> {
        self.table.lock().holds.values().cloned().collect()
    }

    /// Whether nothing is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.table.lock().holds.is_empty()
    }

    /// Refuses further holds; returns all that are held, to be notified.
    pub(crate) fn close(&self) -> Vec<Arc<dyn Renewable>> {
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
        let mut reported = None;
        while let Some(next) = self.tick() {
            self.report_oldest(&mut reported);
            let sleep = next.since(self.clock.now());
            tokio::select! {
                biased;
                () = tokio::time::sleep(sleep) => {}
                () = self.sooner.notified() => {}
            }
            if jumps.jumped(&self.clock) {
                self.recheck_all();
            }
        }
    }

    /// Ends what has expired and renews what is due. Returns when the next tick is due, or `None` when
    /// the task shall end.
    pub(crate) fn tick(self: &Arc<Self>) -> Option<BootInstant> {
        let now = self.clock.now();
        let mut table = self.table.lock();
        if table.stopped {
            return None;
        }
        // What has ended is kept until the lock is free: the last hold ends the locker.
        let (mut expired, mut renewing, mut ended) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(entry) = table
            .holds
            .first_entry()
            .filter(|entry| entry.key().0 <= now)
        {
            let ((due, _), hold) = entry.remove_entry();
            if hold.attempt().state().expire(now.as_nanos()) {
                expired.push(hold);
            } else if let Some(deadline) = hold.attempt().deadline() {
                // Until the renewal is answered, the deadline is due next.
                table.put(deadline, hold.clone());
                renewing.push((due, hold));
            } else {
                ended.push(hold);
            }
        }
        let next = table.plan(now);
        drop(table);
        drop(ended);
        for hold in expired {
            hold.attempt().notify_expired();
        }
        for (due, hold) in renewing.into_iter().filter(|(_, hold)| hold.is_renewed()) {
            tokio::spawn(self.clone().renew(hold, now.since(due)));
        }
        Some(next)
    }

    /// Renews a hold once (K3).
    async fn renew(self: Arc<Self>, hold: Arc<dyn Renewable>, lag: Duration) {
        let renewed = hold.clone().start_renewal(lag).await.is_ok();
        let now = self.clock.now();
        let Some(deadline) = hold.attempt().deadline() else {
            return;
        };
        let next = if renewed {
            next_renewal(now, deadline)
        } else {
            next_try(now, deadline)
        };
        let mut table = self.table.lock();
        if table.take(hold.entry()).is_some() {
            table.put(next, hold.clone());
            self.tick_by(&table, next);
        }
    }

    /// Wakes the task if its next tick is after `due`.
    fn tick_by(&self, table: &Table, due: BootInstant) {
        if due < table.next_tick {
            self.sooner.notify_one();
        }
    }

    /// Reports the age of the oldest hold, at most every [`OLDEST_EVERY`], and once when nothing is held any more.
    /// `reported` is the time of the last report of a hold.
    fn report_oldest(&self, reported: &mut Option<BootInstant>) {
        let now = self.clock.now();
        let table = self.table.lock();
        let recently = reported.is_some_and(|at| now.since(at) < OLDEST_EVERY);
        if recently && !table.holds.is_empty() {
            return;
        }
        let oldest = table.holds.values().map(|hold| hold.since()).min();
        drop(table);
        if let Some(since) = oldest {
            self.metrics.oldest_hold(now.since(since));
            *reported = Some(now);
        } else if reported.take().is_some() {
            self.metrics.oldest_hold(Duration::ZERO);
        }
    }

    fn recheck_all(&self) {
        for hold in self.holds() {
            hold.attempt().wake();
        }
    }
}

/// Between a sixth and a third of what remains: locks that are taken together must not be renewed together for
/// ever.
fn first_renewal(now: BootInstant, deadline: BootInstant) -> BootInstant {
    let period = deadline.since(now) / Renewal::DUE_PART;
    now.after(period.mul_f64(0.5 + 0.5 * random::fraction()))
}

/// Between a quarter and a third of what remains.
fn next_renewal(now: BootInstant, deadline: BootInstant) -> BootInstant {
    let left = deadline.since(now);
    let period = (left / Renewal::DUE_PART).mul_f64(0.75 + 0.25 * random::fraction());
    // Not at once, also if a store renews without moving the deadline; but in time, also if the ttl is
    // as short as that.
    now.after(period.max(RETRY_MIN.min(left / 2)))
}

fn next_try(now: BootInstant, deadline: BootInstant) -> BootInstant {
    let pause = (deadline.since(now) / RETRY_PART).clamp(RETRY_MIN, RETRY_MAX);
    now.after(pause).min(deadline)
}

impl Table {
    fn put(&mut self, due: BootInstant, hold: Arc<dyn Renewable>) {
        let entry = hold.entry();
        entry.due.store(due.as_nanos(), Ordering::Relaxed);
        self.holds.insert((due, entry.serial), hold);
    }

    /// Decides when the next tick is due.
    fn plan(&mut self, now: BootInstant) -> BootInstant {
        let first = self.holds.first_key_value().map(|((due, _), _)| *due);
        // After a busy second there is one more tick even if nothing is held just now. Otherwise a loop of short
        // holds would wake the task each time.
        let busy = std::mem::take(&mut self.active) || first.is_some();
        let tick = if busy {
            now.after(TICK_EVERY)
        } else {
            BootInstant::FOREVER
        };
        self.next_tick = first.map_or(tick, |first| first.min(tick));
        self.next_tick
    }

    fn take(&mut self, entry: &ScheduleEntry) -> Option<Arc<dyn Renewable>> {
        let due = BootInstant::from_nanos(entry.due.load(Ordering::Relaxed));
        self.holds.remove(&(due, entry.serial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(12);

    #[test]
    fn a_renewal_is_due_in_the_first_third_of_what_remains() {
        let now = BootInstant::from_nanos(1_000_000_000);
        let deadline = now.after(TTL);
        let latest = TTL / Renewal::DUE_PART;
        for _ in 0..1_000 {
            let first = first_renewal(now, deadline).since(now);
            assert!(TTL / 6 <= first && first <= latest, "{first:?}");
            let next = next_renewal(now, deadline).since(now);
            assert!(TTL / 4 <= next && next <= latest, "{next:?}");
        }
    }
}
