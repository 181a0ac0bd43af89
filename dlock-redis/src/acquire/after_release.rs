//! A client that released a lock which others wait for lets them try first.
//!
//! They are notified when the release is confirmed to its client. If that client tried again at once, it would win most
//! races, and the others would hardly get the lock. So it subscribes first: that takes the round trip that the others
//! need, and a try that fails finds it subscribed.

use std::{collections::HashMap, sync::Arc, time::Duration};

use dlock_core::{BootInstant, Clock, toolkit::Lock};

use crate::{keys::Keys, scripts::Listeners};

/// How long the others need at most to try: an acquire that comes later need not let them.
const RECENT: Duration = Duration::from_secs(1);

/// The bound on names. Beyond it they are forgotten, and their next acquire tries at once.
const NAMES_MAX: usize = 1_000;

/// When this client released locks that others waited for.
#[derive(Default)]
pub(crate) struct AfterRelease {
    released: Lock<HashMap<Arc<Keys>, BootInstant>>,
    clock: Clock,
}

impl AfterRelease {
    /// Notes a release that was published to `listeners`.
    pub(crate) fn note(&self, keys: &Arc<Keys>, listeners: Listeners) {
        if listeners == 0 {
            return;
        }
        let mut released = self.released.lock();
        if released.len() >= NAMES_MAX {
            released.clear();
        }
        released.insert(keys.clone(), self.clock.now());
    }

    /// Whether this client has just released the lock, and others waited for it. True once for each release.
    pub(super) fn take(&self, keys: &Arc<Keys>) -> bool {
        let mut released = self.released.lock();
        if released.is_empty() {
            return false;
        }
        let at = released.remove(keys);
        drop(released);
        at.is_some_and(|at| self.clock.now().since(at) < RECENT)
    }
}
