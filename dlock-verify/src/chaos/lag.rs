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
pub const LAG_MAX: Duration = Duration::from_millis(200);

/// A thread that measures how late it wakes up, and how long the main thread waits for a processor. It ends when this is
/// dropped.
#[derive(Debug)]
pub struct Watchdog {
    measured: Arc<Measured>,
}

#[derive(Debug)]
struct Measured {
    /// Since the last call of [`Watchdog::take`].
    longest_ns: AtomicU64,
    /// When the thread wakes up next, on the boot-time clock.
    due_ns: AtomicU64,
}

/// How long the main thread could run and had no processor, since its start; zero where the system does not say.
fn waited() -> Duration {
    let stat = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = stat.split(' ').nth(1).and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

impl Watchdog {
    /// `record` is called with each lag that a check of times has to know, in nanoseconds.
    pub fn start(record: impl Fn(u64) + Send + 'static) -> Self {
        let measured = Arc::new(Measured {
            longest_ns: AtomicU64::new(0),
            due_ns: AtomicU64::new(u64::MAX),
        });
        let shared = Arc::downgrade(&measured);
        thread::spawn(move || {
            let (clock, mut waited) = (Clock::boottime(), waited());
            while let Some(measured) = shared.upgrade() {
                let due = clock.now().after(SLEEP);
                measured.due_ns.store(due.as_nanos(), Ordering::Release);
                thread::sleep(SLEEP);
                let before = mem::replace(&mut waited, self::waited());
                let late = clock.now().since(due).max(waited.saturating_sub(before));
                let nanos = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
                measured.longest_ns.fetch_max(nanos, Ordering::Relaxed);
                if late > RECORDED_MIN {
                    record(nanos);
                }
            }
        });
        Self { measured }
    }

    /// How late the thread is right now: a lag that has not ended is not recorded yet.
    #[must_use]
    pub fn late(&self) -> Duration {
        let now = Clock::boottime().now().as_nanos();
        let due = self.measured.due_ns.load(Ordering::Acquire);
        Duration::from_nanos(now.saturating_sub(due))
    }

    /// The longest lag since the last call.
    pub(super) fn take(&self) -> Duration {
        Duration::from_nanos(self.measured.longest_ns.swap(0, Ordering::Relaxed))
    }
}
