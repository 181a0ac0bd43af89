//! The watch of the record of a migration, by a locker that takes its locks in one store alone (K1).
//!
//! The locks of a store may move to another one while the locker is connected. `dlock migrate switch` closes the store to
//! such lockers and waits for [`Migration::CLOSE_WAIT`]. By then each of them has read the record again, is granted no
//! more, and has lost its locks.
//!
//! * While a lock is held or taken the record is read every [`READ_EVERY`], and else with the next acquire.
//! * Once a reading has found a migration, grants and holds count for [`Migration::READ_VALID`] from the last reading that
//!   found the store open, as it was sent (K2). So a holder has time to end its work after the store was closed, and keeps
//!   its lock if the migration is cancelled. A refusal to read the record counts as a migration: others may know of one.
//! * Before that they do not depend on it: a record that cannot be read must not end locks that are fine (K13).
//! * A record that this release cannot read refuses the locker.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
    time::timeout,
};

use crate::{
    backend::{attempt::Attempt, distributed_lock::DistributedLock, migration::Migration},
    base::{
        cause::LostCause,
        clock::{BootInstant, Clock},
        error::{Error, ErrorKind, Result},
        lock::Lock,
    },
    engine::{
        call::catch_panic,
        holds_end::HoldsEnd,
        migration_reading::{Meaning, Reading, read},
        scheduler::Scheduler,
    },
};

/// The time between two readings. Two of three may fail during a migration.
const READ_EVERY: Duration = Duration::from_secs(10);

/// A reading that failed during a migration is repeated after this pause.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// While a migration is known the clock is read as often: the machine may be suspended (K8).
const TICK_EVERY: Duration = Duration::from_secs(1);

/// A reading that takes longer has failed.
const READ_MAX: Duration = Duration::from_secs(5);

/// The locker that a watch is of.
pub(crate) struct Watched {
    pub(crate) backend: Weak<dyn DistributedLock>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) clock: Clock,
    pub(crate) runtime: Handle,
    pub(crate) token_base: u64,
}

pub(crate) struct MigrationWatch {
    locker: Watched,
    /// When the last reading was sent that found the store open.
    found_open: AtomicU64,
    /// The time of the next reading, if the locker is in use by then.
    due: AtomicU64,
    /// Grants are given until then; zero in a store that is closed or left.
    grants_until: AtomicU64,
    /// Holds count until then: for ever without a migration, and zero in a store that is left.
    holds_until: AtomicU64,
    /// The same once no further reading is expected to move it; else for ever.
    ends_at: Arc<AtomicU64>,
    /// Why the last reading has failed; `None` if it was answered.
    failure: Lock<Option<String>>,
    /// The last record that refuses this locker.
    refusing: Lock<Option<String>>,
    /// The number of readings that have ended.
    ended: watch::Sender<u64>,
    /// Whether the locker was used since the last reading.
    is_used: AtomicBool,
    is_running: AtomicBool,
    /// Wakes the task: a reading is due, or it ends.
    wake: Notify,
    is_stopped: AtomicBool,
}

impl MigrationWatch {
    /// Begins with the reading at connect, which has found the store open.
    pub(crate) fn new(first: Reading, locker: Watched) -> Arc<Self> {
        let watch = Self {
            locker,
            found_open: AtomicU64::new(0),
            due: AtomicU64::new(0),
            grants_until: AtomicU64::new(0),
            holds_until: AtomicU64::new(u64::MAX),
            ends_at: Arc::new(AtomicU64::new(u64::MAX)),
            failure: Lock::default(),
            refusing: Lock::default(),
            ended: watch::Sender::new(0),
            is_used: AtomicBool::new(false),
            is_running: AtomicBool::new(false),
            wake: Notify::new(),
            is_stopped: AtomicBool::new(false),
        };
        watch.note(first);
        Arc::new(watch)
    }

    /// The begin of an acquire: a refused locker sends no request to the store.
    pub(crate) async fn begin(self: &Arc<Self>, attempt: &Attempt) -> Result<()> {
        if self.grants_until.load(Ordering::Acquire) == 0 {
            return Box::pin(self.read_or_refuse(attempt)).await;
        }
        // In parallel to the request.
        if self.is_due() {
            self.wake();
        }
        Ok(())
    }

    /// Whether a lock that the store has just granted may be held.
    pub(crate) async fn admit(self: &Arc<Self>, attempt: &Attempt) -> Result<()> {
        if self.now() < self.grants_until.load(Ordering::Acquire) {
            return Ok(());
        }
        Box::pin(self.read_or_refuse(attempt)).await
    }

    /// A hold is in the schedule. It is ended here if the last sweep did not find it.
    pub(crate) fn added(self: &Arc<Self>, hold: &Attempt) {
        if !self.is_used.load(Ordering::SeqCst) || !self.is_running.load(Ordering::SeqCst) {
            self.start();
        }
        if self.is_over(self.locker.clock.now()) {
            hold.report_lost(self.cause());
        }
    }

    /// Whether holds count no longer.
    pub(crate) fn is_over(&self, now: BootInstant) -> bool {
        self.holds_until() <= now
    }

    /// The end of all holds, unless a reading moves it.
    pub(crate) fn holds_until(&self) -> BootInstant {
        BootInstant::from_nanos(self.holds_until.load(Ordering::Acquire))
    }

    /// The end of all holds that is near, for one who waits for it.
    pub(crate) fn holds_end(&self) -> HoldsEnd {
        HoldsEnd::new(self.ends_at.clone(), self.ended.subscribe())
    }

    /// Ends the task.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        self.wake.notify_one();
    }

    /// Awaits one more reading, unless the last one is recent, or `attempt` is cancelled.
    async fn read_or_refuse(self: &Arc<Self>, attempt: &Attempt) -> Result<()> {
        let mut ended = self.ended.subscribe();
        let before = *ended.borrow_and_update();
        if self.is_due() {
            self.wake();
            tokio::select! {
                // A reading has a bound, and the end of the task counts as one.
                _ = ended.wait_for(|ended| *ended != before) => {}
                () = attempt.cancelled() => return Err(Error::cancelled()),
            }
        }
        if self.now() < self.grants_until.load(Ordering::Acquire) {
            return Ok(());
        }
        let refusing = self.refusing.lock().clone();
        if let Some(record) = refusing
            && let Meaning::Closed(error) | Meaning::Refused(error) =
                Meaning::of(Some(&record), self.locker.token_base)
        {
            return Err(error);
        }
        let failure = self.failure.lock().clone();
        let failure = failure.unwrap_or_else(|| "no reading has ended".to_owned());
        let why = format!("the record of the migration of this store cannot be read: {failure}");
        Err(Error::new(ErrorKind::Unavailable, why))
    }

    fn now(&self) -> u64 {
        self.locker.clock.now().as_nanos()
    }

    fn is_due(&self) -> bool {
        self.now() >= self.due.load(Ordering::Acquire)
    }

    /// Wakes the task, or starts it.
    fn wake(self: &Arc<Self>) {
        self.start();
        self.wake.notify_one();
    }

    /// Notes that the locker is in use, and starts the task if there is none.
    fn start(self: &Arc<Self>) {
        self.is_used.store(true, Ordering::SeqCst);
        if !self.is_running.swap(true, Ordering::SeqCst) {
            let running = Running(Some(self.clone()));
            self.locker.runtime.spawn(run(running));
        }
    }

    /// Whether the task may end, as the locker is not in use.
    fn is_idle(&self) -> bool {
        let is_used = || self.is_used.load(Ordering::SeqCst) || !self.locker.scheduler.is_empty();
        if self.is_used.swap(false, Ordering::SeqCst) || is_used() {
            return false;
        }
        self.is_running.store(false, Ordering::SeqCst);
        // An acquire or a hold at this moment has found the task running.
        let goes_on = is_used() && !self.is_running.swap(true, Ordering::SeqCst);
        !goes_on
    }

    /// The time of the next reading, or of the end of all holds if that is earlier.
    fn next(&self, now: BootInstant) -> BootInstant {
        let due = BootInstant::from_nanos(self.due.load(Ordering::Acquire));
        match self.holds_until() {
            BootInstant::FOREVER => due,
            until if until > now => due.min(until).min(now.after(TICK_EVERY)),
            _ => due,
        }
    }

    async fn read(&self, backend: &dyn DistributedLock) {
        let sent = self.locker.clock.now();
        // The end of the holds is reported in time.
        let max = match self.holds_until() {
            until if until > sent => until.since(sent).min(READ_MAX),
            _ => READ_MAX,
        };
        match timeout(max, catch_panic(read(backend))).await {
            Ok(Ok(record)) => {
                // What has ended in the meantime stays ended.
                self.end_holds();
                self.note(Reading { sent, record });
            }
            Ok(Err(error)) => {
                let is_denied = error.kind() == ErrorKind::Denied;
                self.note_failure(&error.to_string(), is_denied);
            }
            Err(_) => self.note_failure(&format!("no reply within {max:?}"), false),
        }
        self.ended.send_modify(|ended| *ended += 1);
    }

    fn note(&self, reading: Reading) {
        let Reading { sent, record } = reading;
        let until = sent.after(Migration::READ_VALID).as_nanos();
        *self.failure.lock() = None;
        let (grants_until, holds_until) =
            match Meaning::of(record.as_deref(), self.locker.token_base) {
                Meaning::Open => (until, u64::MAX),
                Meaning::Leaving => (until, until),
                Meaning::Closed(error) => {
                    self.refuse(&error, record);
                    let end = self.end_of_open().min(self.holds_until());
                    (0, end.as_nanos())
                }
                Meaning::Refused(error) => {
                    self.refuse(&error, record);
                    (0, 0)
                }
            };
        self.grants_until.store(grants_until, Ordering::Release);
        self.holds_until.store(holds_until, Ordering::Release);
        // The next reading of an open store moves the end.
        let ends_at = if grants_until == 0 {
            holds_until
        } else {
            u64::MAX
        };
        self.ends_at.store(ends_at, Ordering::Release);
        if grants_until != 0 {
            self.found_open.store(sent.as_nanos(), Ordering::Release);
            *self.refusing.lock() = None;
        }
        let due = sent.after(READ_EVERY).as_nanos();
        self.due.store(due, Ordering::Release);
    }

    /// Notes the record that refuses this locker.
    fn refuse(&self, error: &Error, record: Option<String>) {
        let was = std::mem::replace(&mut *self.refusing.lock(), record);
        if was.is_none() {
            tracing::warn!(%error, "this process is refused");
        }
    }

    /// Until when holds count after the last reading that found the store open.
    fn end_of_open(&self) -> BootInstant {
        let found_open = BootInstant::from_nanos(self.found_open.load(Ordering::Acquire));
        found_open.after(Migration::READ_VALID)
    }

    fn note_failure(&self, why: &str, is_denied: bool) {
        tracing::debug!(why, "the record of a migration was not read");
        *self.failure.lock() = Some(why.to_owned());
        let now = self.locker.clock.now();
        if is_denied && self.holds_until() == BootInstant::FOREVER {
            tracing::warn!(
                why,
                "locks end, as the record of a migration may not be read"
            );
            let until = self.end_of_open().as_nanos();
            self.grants_until.store(until.max(1), Ordering::Release);
            self.holds_until.store(until.max(1), Ordering::Release);
        }
        self.ends_at
            .store(self.holds_until().as_nanos(), Ordering::Release);
        let is_open = self.holds_until() == BootInstant::FOREVER;
        let pause = if is_open { READ_EVERY } else { RETRY_AFTER };
        if is_open {
            // The next reading may fail, too, and no grant waits for it.
            let until = now.after(READ_EVERY + READ_MAX * 2).as_nanos();
            self.grants_until.fetch_max(until, Ordering::AcqRel);
        }
        self.due
            .store(now.after(pause).as_nanos(), Ordering::Release);
    }

    /// Ends all holds if they count no longer.
    fn end_holds(&self) {
        if !self.is_over(self.locker.clock.now()) {
            return;
        }
        let cause = self.cause();
        for hold in self.locker.scheduler.holds() {
            hold.attempt().report_lost(cause);
        }
    }

    /// The cause of a hold that counts no longer.
    pub(crate) fn cause(&self) -> LostCause {
        match self.refusing.lock().is_some() {
            true => LostCause::Moved,
            false => LostCause::Expired,
        }
    }
}

/// The task: reads the record while the locker is in use.
async fn run(mut running: Running) {
    while let Some(watch) = &running.0 {
        let clock = &watch.locker.clock;
        if watch.is_due() {
            if watch.is_idle() {
                watch.ended.send_modify(|ended| *ended += 1);
                running.0 = None;
                return;
            }
            let Some(backend) = watch.locker.backend.upgrade() else {
                return;
            };
            watch.read(&*backend).await;
        }
        watch.end_holds();
        tokio::select! {
            () = clock.sleep_until(watch.next(clock.now())) => {}
            () = watch.wake.notified() => {}
        }
        if watch.is_stopped.load(Ordering::SeqCst) {
            return;
        }
    }
}

/// The task of a watch. If its runtime ends, the next acquire starts another.
struct Running(Option<Arc<MigrationWatch>>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(watch) = self.0.take() {
            watch.is_running.store(false, Ordering::Release);
            // An acquire that waits for a reading waits no longer.
            watch.ended.send_modify(|ended| *ended += 1);
        }
    }
}
