//! What a session holds.

use std::{collections::HashMap, sync::Arc};

use dlock_core::{AttemptId, BootInstant, toolkit::Lock};

use crate::hold::Entry;

/// The locks of one session, by attempt.
#[derive(Default)]
pub(crate) struct Held(Lock<HashMap<AttemptId, Arc<Entry>>>);

impl Held {
    pub(crate) fn insert(&self, entry: &Arc<Entry>) {
        self.0.lock().insert(entry.attempt.id(), entry.clone());
    }

    /// What this attempt holds already: it is asked for again when its grant was not heard of (K9).
    pub(crate) fn find(&self, id: AttemptId) -> Option<Arc<Entry>> {
        let entry = self.0.lock().get(&id).cloned();
        entry.filter(|entry| !entry.is_swept())
    }

    pub(crate) fn remove(&self, entry: &Entry) {
        self.0.lock().remove(&entry.attempt.id());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// What is held by nobody's word: its deadline has passed without a renewal.
    pub(crate) fn expired(&self, now: BootInstant) -> Vec<Arc<Entry>> {
        let entries = self.0.lock();
        let expired = entries.values().filter(|entry| entry.is_expired(now));
        expired.cloned().collect()
    }

    /// What nobody would tell us of.
    pub(crate) fn unwatched(&self) -> Vec<Arc<Entry>> {
        let entries = self.0.lock();
        let unwatched = entries.values().filter(|entry| !entry.is_watched());
        unwatched.cloned().collect()
    }

    /// All, and nothing is held any more.
    pub(crate) fn take(&self) -> impl Iterator<Item = Arc<Entry>> + use<> {
        std::mem::take(&mut *self.0.lock()).into_values()
    }
}
