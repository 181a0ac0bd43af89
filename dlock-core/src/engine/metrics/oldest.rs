//! The oldest hold of all lockers of a backend in this process: they share one gauge.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crate::base::lock::Lock;

/// The age of each locker's oldest hold, by backend and number of the locker; none without a hold.
static AGES: Lock<BTreeMap<(&'static str, u64), Duration>> = Lock::new(BTreeMap::new());

/// The number of the next locker.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The oldest hold of one locker.
#[derive(Debug)]
pub(super) struct OldestHold {
    backend: &'static str,
    number: u64,
}

impl OldestHold {
    pub(super) fn new(backend: &'static str) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { backend, number }
    }

    /// Sets the age for this locker; zero if it holds nothing. Returns the largest of all lockers of its backend.
    pub(super) fn set(&self, age: Duration) -> Duration {
        let mut ages = AGES.lock();
        let key = (self.backend, self.number);
        if age.is_zero() {
            ages.remove(&key);
        } else {
            ages.insert(key, age);
        }
        let of_backend = ages.range((self.backend, 0)..=(self.backend, u64::MAX));
        of_backend.map(|(_, age)| *age).max().unwrap_or_default()
    }
}
