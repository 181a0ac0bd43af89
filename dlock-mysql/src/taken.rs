//! Names that were taken a moment ago: a wait for one of them is not worth a try before.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use dlock_core::BootInstant;

/// How long a name counts as taken after it was found so.
const RECENT: Duration = Duration::from_secs(1);

/// The number of places. Names that share one cost a round trip, and no more.
const PLACES: usize = 1_024;

/// When the names of a locker were last found taken.
#[derive(Debug)]
pub(crate) struct TakenNames {
    /// The time in nanoseconds; zero if the last acquire found the name free.
    places: Box<[AtomicU64]>,
    hasher: RandomState,
}

/// The place of one name.
pub(crate) struct TakenName<'a>(&'a AtomicU64);

impl TakenNames {
    /// The place of `row`.
    pub(crate) fn name(&self, row: &[u8]) -> TakenName<'_> {
        let hash = self.hasher.hash_one(row) % self.places.len() as u64;
        TakenName(&self.places[usize::try_from(hash).unwrap_or(0)])
    }
}

impl TakenName<'_> {
    /// Whether the last acquire found it taken, a moment before `now`.
    pub(crate) fn is_taken(&self, now: BootInstant) -> bool {
        let found = self.0.load(Ordering::Relaxed);
        found != 0 && now.since(BootInstant::from_nanos(found)) < RECENT
    }

    /// Records whether an acquire has found it taken.
    pub(crate) fn record(&self, is_taken: bool, now: BootInstant) {
        let found = if is_taken { now.as_nanos() } else { 0 };
        // Most names are never taken, and all cores read the place.
        if is_taken || self.0.load(Ordering::Relaxed) != 0 {
            self.0.store(found, Ordering::Relaxed);
        }
    }
}

impl Default for TakenNames {
    fn default() -> Self {
        Self {
            places: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
            hasher: RandomState::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> BootInstant {
        BootInstant::from_nanos(1).after(Duration::from_millis(milliseconds))
    }

    #[test]
    fn a_name_is_taken_until_it_is_found_free_or_a_second_is_over() {
        let names = TakenNames::default();
        let name = || names.name(b"a");
        assert!(!name().is_taken(at(0)));
        name().record(true, at(0));
        assert!(name().is_taken(at(999)));
        assert!(!name().is_taken(at(1_000)));
        name().record(true, at(1_000));
        name().record(false, at(1_001));
        assert!(!name().is_taken(at(1_002)));
    }
}
