//! The one clock of dlock.
//!
//! Deadlines are counted on `CLOCK_BOOTTIME` (K2). Unlike `std::time::Instant` on Linux it goes on while the
//! machine is suspended. So a laptop that slept through its lease knows it at once.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use tokio::runtime::Handle;

use super::system;

/// A reading of a [`Clock`]: nanoseconds since an origin that is fixed for this boot of the machine.
///
/// A reading means nothing on another machine or after a reboot, so it is never stored or sent.
///
/// ```
/// use std::time::Duration;
///
/// use dlock_core::Clock;
///
/// let start = Clock::boottime().now();
/// let end = start.after(Duration::from_secs(10));
/// assert_eq!(end.since(start), Duration::from_secs(10));
/// assert_eq!(start.since(end), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootInstant(u64);

impl BootInstant {
    /// Later than every reading.
    pub const FOREVER: Self = Self(u64::MAX);

    /// The moment `nanos` nanoseconds after the clock's origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to this moment; zero if `earlier` is not before it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The moment `duration` after this one, at most [`BootInstant::FOREVER`].
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }

    /// The moment `duration` before this one, at least the clock's origin.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(duration)))
    }
}

/// Nanoseconds of `duration`; 584 years for all that is longer.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The source of time: the machine's boot-time clock, or in tests tokio's pausable one.
///
/// Cheap to clone; clones read the same time.
///
/// ```
/// use std::time::Duration;
///
/// use dlock_core::Clock;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let clock = Clock::boottime();
/// let start = clock.now();
/// clock.sleep_until(start.after(Duration::from_millis(5))).await;
/// assert!(clock.now().since(start) >= Duration::from_millis(5));
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Clock(Source);

/// No timer counts the time in which the machine is suspended, so a sleep that must not be late reads the clock.
const READ_EVERY: Duration = Duration::from_secs(1);

/// The first reading of a test's clock: tests can go back from it.
const HEAD_START: Duration = Duration::from_secs(3600);

#[derive(Clone, Default)]
enum Source {
    #[default]
    Boottime,
    Tokio {
        origin: tokio::time::Instant,
        jumped: Arc<AtomicU64>,
    },
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// The machine's clock that counts suspended time: `CLOCK_BOOTTIME` on Linux, `CLOCK_MONOTONIC` on other Unix
    /// systems, std's clock elsewhere.
    #[must_use]
    pub fn boottime() -> Self {
        Self::default()
    }

    /// A clock for tests that follows tokio's: it stops at `tokio::time::pause` and moves with
    /// `tokio::time::advance`. [`Clock::jump`] moves it alone, as a suspended machine does.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// use std::time::Duration;
    ///
    /// use dlock_core::{Clock, Locker, memory::Memory};
    ///
    /// let clock = Clock::pausable();
    /// let store = Memory::with_clock(clock.clone());
    /// let locks = Locker::builder(store).clock(clock.clone()).build()?;
    ///
    /// let guard = locks.acquire("report").await?;
    /// // The machine is suspended for longer than the ttl of 30 s.
    /// clock.jump(Duration::from_secs(60));
    /// assert!(!guard.is_held());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn pausable() -> Self {
        Self(Source::Tokio {
            origin: tokio::time::Instant::now(),
            jumped: Arc::default(),
        })
    }

    /// A clock that only [`jump`](Self::jump) moves, for simulations. It is in no runtime, so that several
    /// can share it.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use dlock_core::Clock;
    ///
    /// let clock = Clock::manual();
    /// let start = clock.now();
    /// clock.jump(Duration::from_secs(5));
    /// assert_eq!(clock.now().since(start), Duration::from_secs(5));
    /// ```
    #[must_use]
    pub fn manual() -> Self {
        Self(Source::Manual(Arc::new(AtomicU64::new(nanos(HEAD_START)))))
    }

    /// Reads the clock. Costs about 30 ns and works off-runtime.
    #[must_use]
    pub fn now(&self) -> BootInstant {
        match &self.0 {
            Source::Boottime => BootInstant(system::boot_nanos()),
            Source::Manual(nanos) => BootInstant(nanos.load(Ordering::Acquire)),
            Source::Tokio { origin, jumped } => {
                let run = tokio_now().saturating_duration_since(*origin);
                BootInstant(jumped.load(Ordering::Acquire))
                    .after(HEAD_START)
                    .after(run)
            }
        }
    }

    /// Sleeps until this clock shows `until`; for ever when that is [`BootInstant::FOREVER`]. Wakes up to a
    /// millisecond late, and after a suspend of the machine late by the time it was suspended.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn sleep_until(&self, until: BootInstant) {
        if until == BootInstant::FOREVER {
            std::future::pending::<()>().await;
        }
        loop {
            let left = until.since(self.now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }

    /// Sleeps as [`sleep_until`](Self::sleep_until), and wakes up at most a second late after a suspend of the machine: it
    /// reads the clock once a second.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use dlock_core::Clock;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let clock = Clock::pausable();
    /// let sleep = clock.sleep_until_despite_suspend(clock.now().after(Duration::from_secs(60)));
    /// // The machine is suspended for longer.
    /// clock.jump(Duration::from_secs(100));
    /// assert!(tokio::time::timeout(Duration::from_secs(2), sleep).await.is_ok());
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn sleep_until_despite_suspend(&self, until: BootInstant) {
        loop {
            let now = self.now();
            if until <= now {
                return;
            }
            let next = match until {
                BootInstant::FOREVER => until,
                until => until.min(now.after(READ_EVERY)),
            };
            self.sleep_until(next).await;
        }
    }

    /// Moves a [pausable](Clock::pausable) or [manual](Clock::manual) clock forward without moving tokio's
    /// timers: what a process sees after its machine was suspended for `by`. The machine's own clock ignores it.
    pub fn jump(&self, by: Duration) {
        match &self.0 {
            Source::Boottime => {}
            Source::Tokio { jumped: moved, .. } | Source::Manual(moved) => {
                moved.fetch_add(nanos(by), Ordering::AcqRel);
            }
        }
    }

    /// Wall-clock time in microseconds since 1970; for tokens' clock floors and for people to read,
    /// never for deadlines.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn unix_micros(&self) -> u64 {
        if let Source::Manual(nanos) = &self.0 {
            return nanos.load(Ordering::Acquire) / 1_000;
        }
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since_epoch.map_or(0, |d| u64::try_from(d.as_micros()).unwrap_or(u64::MAX))
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Source::Boottime => "Clock(boottime)",
            Source::Tokio { .. } => "Clock(pausable)",
            Source::Manual(_) => "Clock(manual)",
        })
    }
}

/// The present of tokio's clock; of the machine's in a thread that ends, where a paused one cannot be read.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
fn tokio_now() -> tokio::time::Instant {
    match Handle::try_current() {
        Err(error) if error.is_thread_local_destroyed() => std::time::Instant::now().into(),
        _ => tokio::time::Instant::now(),
    }
}

/// Notices that a clock and tokio's timers have drifted apart: the machine was suspended, and every
/// timer that is set will fire too late.
pub(crate) struct JumpDetector {
    clock: BootInstant,
    timers: tokio::time::Instant,
}

impl JumpDetector {
    /// Drift below this is the two clocks' different rates and the time between reading them.
    const TOLERANCE: Duration = Duration::from_millis(100);

    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn new(clock: &Clock) -> Self {
        Self {
            clock: clock.now(),
            timers: tokio::time::Instant::now(),
        }
    }

    /// Whether the clock has jumped ahead of the timers since the last call.
    pub(crate) fn jumped(&mut self, clock: &Clock) -> bool {
        let before = std::mem::replace(self, Self::new(clock));
        let ran = self.timers.saturating_duration_since(before.timers);
        self.clock.since(before.clock) > ran + Self::TOLERANCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_jump_is_noticed_once() {
        let clock = Clock::pausable();
        let mut detector = JumpDetector::new(&clock);
        tokio::time::advance(Duration::from_secs(9)).await;
        assert!(!detector.jumped(&clock));
        clock.jump(Duration::from_secs(1));
        assert!(detector.jumped(&clock));
        assert!(!detector.jumped(&clock));
    }

    #[test]
    fn boottime_never_goes_back() {
        let clock = Clock::boottime();
        let first = clock.now();
        assert!(clock.now() >= first);
    }

    #[tokio::test(start_paused = true)]
    async fn a_jump_moves_the_clock_but_not_the_timers() {
        let clock = Clock::pausable();
        let first = clock.now();
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(clock.now().since(first), Duration::from_secs(2));
        clock.jump(Duration::from_secs(5));
        assert_eq!(clock.now().since(first), Duration::from_secs(7));
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(
            BootInstant::FOREVER.after(Duration::MAX),
            BootInstant::FOREVER
        );
        assert_eq!(BootInstant(1).before(Duration::MAX), BootInstant(0));
        assert_eq!(BootInstant(1).since(BootInstant(2)), Duration::ZERO);
    }
}
