//! The times of a server: of its processors and of its disk.

use std::{sync::Arc, time::Duration};

use dlock_core::Result;
use dlock_raw::baseline::{Floor, Times};

use crate::machine::{Spent, Threads};

/// Reads the times of a server.
pub(crate) struct Meter {
    pub(crate) pid: Option<u32>,
    pub(crate) floor: Option<Arc<dyn Floor>>,
}

/// The times since the start of the server.
pub(crate) struct Reading {
    threads: Option<Threads>,
    reported: Times,
}

/// The times between two readings.
pub(crate) struct ServerTime {
    threads: Option<Spent>,
    reported: Option<Duration>,
    /// How long the server waited for its disk.
    pub(crate) flush: Option<Duration>,
}

impl Meter {
    /// Reads the times now. The reading itself is not between two readings, where the kernel counts.
    ///
    /// # Errors
    ///
    /// The errors of the server.
    pub(crate) async fn before(&self) -> Result<Reading> {
        let reported = self.reported().await?;
        let threads = self.threads();
        Ok(Reading { threads, reported })
    }

    /// The times since an `earlier` reading. A server that was restarted in between counts from zero, so they are
    /// unknown.
    ///
    /// # Errors
    ///
    /// The errors of the server.
    pub(crate) async fn since(&self, earlier: &Reading) -> Result<ServerTime> {
        let threads = self.threads();
        let reported = self.reported().await?;
        let between = |now: Option<Duration>, then: Option<Duration>| now?.checked_sub(then?);
        Ok(ServerTime {
            threads: threads
                .zip(earlier.threads.as_ref())
                .map(|(now, then)| now.since(then)),
            reported: between(reported.cpu, earlier.reported.cpu),
            flush: between(reported.flush, earlier.reported.flush),
        })
    }

    fn threads(&self) -> Option<Threads> {
        self.pid.and_then(Threads::read)
    }

    async fn reported(&self) -> Result<Times> {
        match self.floor.as_ref().and_then(|floor| floor.server()) {
            Some(server) => server.times().await,
            None => Ok(Times::default()),
        }
    }
}

impl ServerTime {
    /// The processor time: on this machine the kernel's account, else the server's own.
    pub(crate) fn total(&self) -> Option<Duration> {
        let threads = self.threads.as_ref().map(Spent::total);
        threads.or(self.reported)
    }

    /// The processor time of each thread, on this machine.
    pub(crate) fn threads(&self) -> Option<&Spent> {
        self.threads.as_ref()
    }
}
