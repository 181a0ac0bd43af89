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

impl TakenNames {
    /// Whether the last acquire of `row` found it taken, a moment before `now`.
    pub(crate) fn contains(&self, row: &[u8], now: BootInstant) -> bool {
        let found = self.place(row).load(Ordering::Relaxed);
        found != 0 && now.since(BootInstant::from_nanos(found)) < RECENT
    }

    /// Records whether an acquire of `row` has found it taken.
    pub(crate) fn record(&self, row: &[u8], is_taken: bool, now: BootInstant) {
        let (place, found) = (self.place(row), if is_taken { now.as_nanos() } else { 0 });
        // Most names are never taken, and all cores read the place.
        if is_taken || place.load(Ordering::Relaxed) != 0 {
            place.store(found, Ordering::Relaxed);
        }
    }

    fn place(&self, row: &[u8]) -> &AtomicU64 {
        let hash = self.hasher.hash_one(row) % self.places.len() as u64;
        &self.places[usize::try_from(hash).unwrap_or(0)]
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
        assert!(!names.contains(b"a", at(0)));
        names.record(b"a", true, at(0));
        assert!(names.contains(b"a", at(999)));
        assert!(!names.contains(b"a", at(1_000)));
        names.record(b"a", true, at(1_000));
        names.record(b"a", false, at(1_001));
        assert!(!names.contains(b"a", at(1_002)));
    }
}
