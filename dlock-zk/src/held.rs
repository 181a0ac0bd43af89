//! What a session holds.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use dlock_core::{AttemptId, Moment};

use crate::entry::Entry;

/// The locks of one session, by attempt.
#[derive(Default)]
pub(crate) struct Held(Mutex<HashMap<AttemptId, Arc<Entry>>>);

impl Held {
    pub(crate) fn insert(&self, entry: &Arc<Entry>) {
        self.entries().insert(entry.attempt.id(), entry.clone());
    }

    /// What this attempt holds already: it is asked for again when its grant was not heard of (K9).
    pub(crate) fn find(&self, id: AttemptId) -> Option<Arc<Entry>> {
        let entry = self.entries().get(&id).cloned();
        entry.filter(|entry| !entry.is_swept())
    }

    pub(crate) fn remove(&self, entry: &Entry) {
        self.entries().remove(&entry.attempt.id());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// What is held by nobody's word: its deadline has passed without a renewal.
    pub(crate) fn expired(&self, now: Moment) -> Vec<Arc<Entry>> {
        let entries = self.entries();
        let expired = entries.values().filter(|entry| entry.is_expired(now));
        expired.cloned().collect()
    }

    /// What nobody would tell us of.
    pub(crate) fn unwatched(&self) -> Vec<Arc<Entry>> {
        let entries = self.entries();
        let unwatched = entries.values().filter(|entry| !entry.is_watched());
        unwatched.cloned().collect()
    }

    /// All, and nothing is held any more.
    pub(crate) fn take(&self) -> impl Iterator<Item = Arc<Entry>> + use<> {
        std::mem::take(&mut *self.entries()).into_values()
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<AttemptId, Arc<Entry>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
