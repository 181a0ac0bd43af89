//! The wait for a store that cannot be reached when a program connects.

use std::{pin::pin, time::Duration};

use crate::{
    backend::attempt::WAITING,
    base::{
        clock::{BootInstant, Clock},
        error::{Error, ErrorKind, Result},
    },
    toolkit::Backoff,
};

/// A try that takes longer is reported while it goes on: nothing may answer there.
const REPORT_AFTER: Duration = Duration::from_secs(1);

/// The tries to connect, one after the other, until one succeeds or the time is over.
#[derive(Debug)]
pub(super) struct ConnectWait {
    clock: Clock,
    max: Duration,
    until: BootInstant,
    pauses: Backoff,
    is_reported: bool,
}

impl ConnectWait {
    /// Begins a wait of at most `max`. There is one try if that is zero.
    pub(super) fn begin(max: Duration) -> Self {
        let clock = Clock::boottime();
        Self {
            max,
            until: clock.now().after(max),
            clock,
            pauses: Backoff::new(),
            is_reported: false,
        }
    }

    /// Drives one try to its end, and reports it if it takes long.
    pub(super) async fn watch<T>(&mut self, trial: impl Future<Output = Result<T>>) -> Result<T> {
        let mut trial = pin!(trial);
        let long = self.clock.now().after(REPORT_AFTER);
        tokio::select! {
            biased;
            result = &mut trial => return result,
            () = self.clock.sleep_until(long) => self.report(&"no answer from the store"),
        }
        trial.await
    }

    /// Pauses before the next try, after one that failed with `error`.
    ///
    /// # Errors
    ///
    /// `error`, if the time is over, or if the store was reached: it would refuse the next try, too.
    pub(super) async fn before_next(&mut self, error: Error) -> Result<()> {
        let now = self.clock.now();
        if error.kind() != ErrorKind::Unavailable || now >= self.until {
            return Err(error);
        }
        self.report(&error);
        let next = now.after(self.pauses.next_pause());
        self.clock.sleep_until(next.min(self.until)).await;
        Ok(())
    }

    /// Warns once that the wait goes on. There is none when the time is over.
    fn report(&mut self, why: &dyn std::fmt::Display) {
        let is_over = self.clock.now() >= self.until;
        if is_over || std::mem::replace(&mut self.is_reported, true) {
            return;
        }
        let max = humantime::format_duration(self.max);
        tracing::warn!(target: WAITING, "{why}; connecting is tried for up to {max}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreachable() -> Error {
        Error::new(ErrorKind::Unavailable, "nothing listens there")
    }

    #[tokio::test]
    async fn there_is_one_try_without_a_wait() {
        let mut wait = ConnectWait::begin(Duration::ZERO);
        assert!(wait.before_next(unreachable()).await.is_err());
        assert!(!wait.is_reported);
    }

    #[tokio::test]
    async fn only_a_store_that_cannot_be_reached_is_tried_again() {
        let mut wait = ConnectWait::begin(Duration::from_secs(60));
        assert!(wait.before_next(unreachable()).await.is_ok());
        let denied = Error::new(ErrorKind::Denied, "wrong password");
        let error = wait.before_next(denied).await.expect_err("it stays wrong");
        assert_eq!(error.kind(), ErrorKind::Denied);
    }

    #[tokio::test]
    async fn the_last_failure_is_the_result() {
        let mut wait = ConnectWait::begin(Duration::from_millis(20));
        let mut tries = 1;
        let error = loop {
            match wait.before_next(unreachable()).await {
                Ok(()) => tries += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        // One pause is longer than the whole time.
        assert_eq!(tries, 2);
    }

    #[tokio::test]
    async fn a_try_that_takes_long_is_reported_while_it_goes_on() {
        let mut wait = ConnectWait::begin(Duration::from_secs(60));
        let clock = Clock::boottime();
        let end = clock.now().after(REPORT_AFTER + REPORT_AFTER / 4);
        let trial = async {
            clock.sleep_until(end).await;
            Ok(())
        };
        assert!(wait.watch(trial).await.is_ok());
        assert!(wait.is_reported);
        let quick = async { Ok(()) };
        let mut wait = ConnectWait::begin(Duration::from_secs(60));
        assert!(wait.watch(quick).await.is_ok());
        assert!(!wait.is_reported);
    }
}
