//! A backend whose calls have their turns, and a meter of them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use dlock::{
    BootInstant, Capabilities, Clock, Error, ErrorKind, Holder, LockName, Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed},
};
use dlock_core::toolkit::Lock;

use super::{names::Names, pace::Pace};

/// An acquire whose wait ends earlier may end without an answer if it waits for its turn.
const WAIT_MIN: Duration = Duration::from_secs(2);

/// A call without an answer for so long shows that the store is silent: less than any store's default timeout of a
/// reply.
const SILENT_MIN: Duration = Duration::from_millis(1_500);

/// The same for a call that was given up: a renewal is, at the end of its lock. Calls that cases drop are dropped at
/// once.
const GIVEN_UP_MIN: Duration = Duration::from_millis(250);

/// Counts and times of the calls of a backend.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    grants: AtomicU64,
    /// In microseconds, of renewals, releases and inspections: an acquire may wait.
    slowest: AtomicU64,
    /// The last call that the store did not answer or permit, and why.
    failed: Lock<Option<(BootInstant, String)>>,
    /// The end of the last call that the store answered.
    answered: Lock<Option<BootInstant>>,
    /// The calls that were without an answer for long, with their ends.
    silences: Lock<Vec<(BootInstant, Duration)>>,
}

/// A call that is on its way. When it is dropped, with an answer or without one, the time counts that it took.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    meter: &'a Meter,
    clock: &'a Clock,
    sent: BootInstant,
    counts: Counts,
    /// Whether it was not given up.
    has_ended: bool,
}

/// The times that a call belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    /// The slowest reply, and how long the store was silent.
    Both,
    /// How long the store was silent: to connect takes several replies.
    Silence,
}

impl Meter {
    /// How many locks were granted.
    pub(crate) fn grants(&self) -> u64 {
        self.grants.load(Ordering::Relaxed)
    }

    /// The slowest reply; for a call without one, the time that it was waited for.
    pub(crate) fn slowest(&self) -> Duration {
        Duration::from_micros(self.slowest.load(Ordering::Relaxed))
    }

    /// A call has failed. Only an error that says nothing of the contract is noted.
    pub(crate) fn failed(&self, at: BootInstant, error: &Error) {
        if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Denied) {
            *self.failed.lock() = Some((at, error.to_string()));
        }
    }

    /// Why the store did not answer or permit a call that ended since `start`.
    pub(crate) fn silent_since(&self, start: BootInstant) -> Option<String> {
        let failed = self.failed.lock().clone();
        let failed = failed.filter(|(at, _)| *at >= start);
        let silence = || Some(format!("no reply for {:.1?}", self.silence_since(start)?));
        failed.map(|(_, why)| why).or_else(silence)
    }

    /// How long a call that ended since `start` was without an answer, if that was long.
    pub(crate) fn silence_since(&self, start: BootInstant) -> Option<Duration> {
        let silences = self.silences.lock();
        let ended = silences.iter().filter(|(end, _)| *end >= start);
        ended.map(|(_, waited)| *waited).max()
    }

    /// When the store answered the last time.
    pub(crate) fn answered(&self) -> Option<BootInstant> {
        *self.answered.lock()
    }

    fn answers(&self, at: BootInstant) {
        *self.answered.lock() = Some(at);
    }

    /// A call to connect is sent now.
    pub(crate) fn connect<'a>(&'a self, clock: &'a Clock) -> Call<'a> {
        self.call(clock, Counts::Silence)
    }

    fn call<'a>(&'a self, clock: &'a Clock, counts: Counts) -> Call<'a> {
        let sent = clock.now();
        Call {
            meter: self,
            clock,
            sent,
            counts,
            has_ended: false,
        }
    }
}

impl Call<'_> {
    /// The call ends with this answer.
    pub(crate) fn ended<T>(mut self, answer: &Result<T>) {
        self.has_ended = true;
        if answer.is_ok() {
            self.meter.answers(self.clock.now());
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let (now, meter) = (self.clock.now(), self.meter);
        let took = now.since(self.sent);
        if self.counts == Counts::Both {
            let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            meter.slowest.fetch_max(micros, Ordering::Relaxed);
        }
        let silent_min = if self.has_ended {
            SILENT_MIN
        } else {
            GIVEN_UP_MIN
        };
        if took >= silent_min {
            meter.silences.lock().push((now, took));
        }
    }
}

/// A backend whose calls have their turns.
#[derive(Debug)]
pub(crate) struct Paced {
    inner: Box<dyn DistributedLock>,
    pace: Arc<Pace>,
    meter: Arc<Meter>,
    clock: Clock,
    short_waits: ShortWaits,
    names: Option<Arc<Names>>,
}

/// Whether an acquire whose wait ends soon has a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShortWaits {
    /// As all others: its wait may end before.
    HaveTurns,
    /// Later calls wait longer instead: for few such acquires, whose ends are judged.
    GoAhead,
}

impl Paced {
    /// `inner`, whose calls are paced and measured.
    pub(crate) fn new(inner: Box<dyn DistributedLock>, pace: Arc<Pace>, meter: Arc<Meter>) -> Self {
        Self {
            inner,
            pace,
            meter,
            clock: Clock::boottime(),
            short_waits: ShortWaits::HaveTurns,
            names: None,
        }
    }

    /// For cases: notes the names of locks in `names`, and lets acquires go ahead whose wait ends soon.
    pub(crate) fn for_cases(self, names: Arc<Names>) -> Self {
        Self {
            short_waits: ShortWaits::GoAhead,
            names: Some(names),
            ..self
        }
    }

    async fn timed<T>(&self, call: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let sent = self.meter.call(&self.clock, Counts::Both);
        let answer = self.noted(call).await;
        sent.ended(&answer);
        answer
    }

    async fn noted<T>(&self, call: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let answer = call.await;
        answer.inspect_err(|error| self.meter.failed(self.clock.now(), error))
    }
}

#[async_trait]
impl DistributedLock for Paced {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let now = self.clock.now();
        let ends_soon = |end: BootInstant| end < now.after(WAIT_MIN);
        if self.short_waits == ShortWaits::GoAhead && request.wait_until.is_some_and(ends_soon) {
            self.pace.ahead();
        } else {
            self.pace.turn().await;
        }
        if let Some(names) = &self.names {
            names.add(&request.name);
        }
        let lease = self.noted(self.inner.acquire(request)).await?;
        self.meter.grants.fetch_add(1, Ordering::Relaxed);
        self.meter.answers(self.clock.now());
        Ok(lease)
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        // K3: a renewal that waits may come too late.
        self.pace.ahead();
        self.timed(self.inner.renew(lease)).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.pace.ahead();
        self.timed(self.inner.release(lease)).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.pace.turn().await;
        self.timed(self.inner.inspect(name)).await
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_an_answer_counts_with_the_time_waited() {
        let (meter, clock) = (Meter::default(), Clock::manual());
        let start = clock.now();
        let almost = Duration::from_millis(1);
        let short = meter.call(&clock, Counts::Both);
        clock.jump(GIVEN_UP_MIN - almost);
        drop(short);
        assert_eq!(meter.slowest(), GIVEN_UP_MIN - almost);
        let answered = meter.call(&clock, Counts::Both);
        clock.jump(SILENT_MIN - almost);
        answered.ended(&Ok(()));
        assert_eq!(meter.slowest(), SILENT_MIN - almost);
        assert_eq!(meter.silence_since(start), None);
        let given_up = meter.call(&clock, Counts::Both);
        clock.jump(GIVEN_UP_MIN);
        drop(given_up);
        assert_eq!(meter.silence_since(start), Some(GIVEN_UP_MIN));
        let answered = meter.call(&clock, Counts::Both);
        clock.jump(SILENT_MIN);
        answered.ended(&Ok(()));
        assert_eq!(
            meter.silent_since(start),
            Some("no reply for 1.5s".to_owned())
        );
        let connect = meter.connect(&clock);
        clock.jump(SILENT_MIN * 2);
        drop(connect);
        assert_eq!(meter.slowest(), SILENT_MIN);
        assert_eq!(meter.silence_since(start), Some(SILENT_MIN * 2));
        clock.jump(SILENT_MIN);
        assert_eq!(meter.silence_since(clock.now()), None);
    }
}
