//! How many nodes hold a lock. Too few of them are a loss of the grant (K8).

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    BootInstant, Clock, LostCause,
    backend::{Attempt, Deadline},
    toolkit::Lock,
};
use tokio::{runtime::Handle, sync::Notify};

use super::deadline::latest_of_need;
use crate::part::Part;

/// The clock is read as often while the end of the members is waited for: the machine may be suspended (K8).
const TICK_EVERY: Duration = Duration::from_secs(1);

/// The identity of a member within its round, and whether its node has reported a loss.
#[derive(Clone, Debug, Default)]
pub(super) struct MemberId(Arc<AtomicBool>);

/// The members of a round that are held: by their own clock, and as far as their nodes have not reported a loss.
#[derive(Debug)]
pub(super) struct Tally {
    attempt: Attempt,
    clock: Clock,
    need: usize,
    counted: Lock<Counted>,
    /// Wakes the task that waits for the end of the members.
    changed: Arc<Notify>,
    runtime: Option<Handle>,
}

#[derive(Debug, Default)]
struct Counted {
    held: Vec<(MemberId, Weak<Part>)>,
    is_granted: bool,
    /// Whether the loss of the grant is reported, with its own cause.
    is_lost: bool,
    /// Whether a task waits for the end of the members.
    is_watched: bool,
}

impl PartialEq for MemberId {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Tally {
    pub(super) fn new(attempt: Attempt, clock: Clock, need: usize) -> Self {
        Self {
            attempt,
            clock,
            need,
            counted: Lock::default(),
            changed: Arc::default(),
            runtime: Handle::try_current().ok(),
        }
    }

    /// Counts a member, unless its loss came before.
    pub(super) fn hold(&self, id: &MemberId, part: &Arc<Part>) {
        let mut counted = self.counted.lock();
        // Read under the lock: a loss is not missed between the two.
        if !id.0.load(Ordering::Acquire) {
            counted.held.push((id.clone(), Arc::downgrade(part)));
        }
    }

    /// A member is lost, which may make the grant a lost one.
    pub(super) fn lose(self: &Arc<Self>, id: &MemberId, cause: LostCause) {
        let is_loss = {
            let mut counted = self.counted.lock();
            id.0.store(true, Ordering::Release);
            let before = counted.held.len();
            counted.held.retain(|(held, _)| held != id);
            if !counted.is_granted || counted.held.len() == before {
                return;
            }
            counted.is_lost |= self.end_of(&counted).is_none();
            counted.is_lost
        };
        if is_loss {
            self.attempt.report_lost(cause);
        } else {
            self.watch();
        }
    }

    /// Ends the grant as lost.
    pub(super) fn end(&self, cause: LostCause) {
        self.counted.lock().is_lost = true;
        self.attempt.report_lost(cause);
    }

    /// Makes later losses losses of the grant; false if too few members are held.
    pub(super) fn grant(&self) -> bool {
        let mut counted = self.counted.lock();
        counted.is_granted = self.end_of(&counted).is_some();
        counted.is_granted
    }

    /// Whether the member is held.
    pub(super) fn is_held(&self, id: &MemberId, part: &Part) -> bool {
        let counted = self.counted.lock();
        part.is_held() && counted.held.iter().any(|(held, _)| held == id)
    }

    /// Whether enough members are held.
    pub(super) fn is_enough(&self) -> bool {
        self.end_of(&self.counted.lock()).is_some()
    }

    /// Until when enough members are held; `None` if too few are.
    fn end_of(&self, counted: &Counted) -> Option<BootInstant> {
        let parts = counted.held.iter().filter_map(|(_, part)| part.upgrade());
        let deadlines = parts.filter(|part| part.is_held());
        let deadlines: Vec<Deadline> = deadlines.map(|part| part.deadline()).collect();
        latest_of_need(deadlines, self.need).map(Deadline::instant)
    }

    /// Why too few members are held: a loss that a renewal has found and that is not taken here yet, or the time.
    fn cause_of_end(counted: &Counted) -> LostCause {
        let parts = counted.held.iter().filter_map(|(_, part)| part.upgrade());
        let mut found = parts.filter_map(|part| part.known_loss());
        let of_store = found.find(|cause| *cause != LostCause::Expired);
        of_store.unwrap_or(LostCause::Expired)
    }

    /// Reports the loss when too few of the members that are left are held. Without the lost one they may end before the
    /// deadline that the grant has (K2).
    fn watch(self: &Arc<Self>) {
        self.changed.notify_one();
        let is_watched = std::mem::replace(&mut self.counted.lock().is_watched, true);
        if let (false, Some(runtime)) = (is_watched, &self.runtime) {
            let watching = watch_end(Arc::downgrade(self), self.clock.clone());
            runtime.spawn(watching);
        }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        // Ends the task that watches it.
        self.changed.notify_one();
    }
}

/// Ends with the loss, or with the tally.
async fn watch_end(tally: Weak<Tally>, clock: Clock) {
    loop {
        let Some(alive) = tally.upgrade() else { return };
        let changed = alive.changed.clone();
        let end = {
            let mut counted = alive.counted.lock();
            if counted.is_lost {
                return;
            }
            let end = alive.end_of(&counted);
            // Members without an end: a further loss begins this again.
            counted.is_watched = end.is_some_and(|end| end < BootInstant::FOREVER);
            end.ok_or_else(|| Tally::cause_of_end(&counted))
        };
        match end {
            Err(cause) => {
                alive.attempt.report_lost(cause);
                return;
            }
            Ok(BootInstant::FOREVER) => return,
            Ok(end) => {
                drop(alive);
                tokio::select! {
                    () = clock.sleep_until(end.min(clock.now().after(TICK_EVERY))) => {}
                    () = changed.notified() => {}
                }
            }
        }
    }
}
