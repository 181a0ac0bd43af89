//! How late this machine is: times prove nothing on one that is too slow.

use std::{
    fs, mem,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use dlock_core::Clock;

/// How long the watchdog sleeps.
const SLEEP: Duration = Duration::from_millis(10);

/// A shorter lag is within the tolerance of the checks.
const RECORDED_MIN: Duration = Duration::from_millis(5);

/// Beyond this, checks of times answer *unknown*.
pub(super) const LAG_MAX: Duration = Duration::from_millis(200);

/// A thread that measures how late it wakes up, and how long the main thread waits for a processor. It ends when this is
/// dropped.
#[derive(Debug)]
pub(super) struct Watchdog {
    /// Since the last call of [`take`](Self::take).
    longest_ns: Arc<AtomicU64>,
}

/// How long the main thread could run and had no processor, since its start; zero where the system does not say.
fn waited() -> Duration {
    let stat = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = stat.split(' ').nth(1).and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

impl Watchdog {
    /// `record` is called with each lag that a check of times has to know, in nanoseconds.
    pub(super) fn start(record: impl Fn(u64) + Send + 'static) -> Self {
        let longest_ns = Arc::new(AtomicU64::new(0));
        let measured = Arc::downgrade(&longest_ns);
        thread::spawn(move || {
            let (clock, mut waited) = (Clock::boottime(), waited());
            while let Some(longest) = measured.upgrade() {
                let due = clock.now().after(SLEEP);
                thread::sleep(SLEEP);
                let before = mem::replace(&mut waited, self::waited());
                let late = clock.now().since(due).max(waited.saturating_sub(before));
                let nanos = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
                longest.fetch_max(nanos, Ordering::Relaxed);
                if late > RECORDED_MIN {
                    record(nanos);
                }
            }
        });
        Self { longest_ns }
    }

    /// The longest lag since the last call.
    pub(super) fn take(&self) -> Duration {
        Duration::from_nanos(self.longest_ns.swap(0, Ordering::Relaxed))
    }
}
