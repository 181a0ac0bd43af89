//! The processor time of a server.

use std::{sync::Arc, time::Duration};

use dlock_core::Result;
use dlock_raw::baseline::Floor;

use crate::machine::{Spent, Threads};

/// Reads the processor time of a server: on this machine the kernel's account, else the server's own.
pub(crate) struct Meter {
    pub(crate) pid: Option<u32>,
    pub(crate) floor: Option<Arc<dyn Floor>>,
}

/// The processor time since the start of the server.
pub(crate) enum Reading {
    Threads(Threads),
    Reported(Duration),
    Unknown,
}

/// The processor time between two readings.
pub(crate) enum ServerTime {
    Threads(Spent),
    Reported(Duration),
    Unknown,
}

impl Meter {
    /// Reads it now.
    ///
    /// # Errors
    ///
    /// The errors of the server.
    pub(crate) async fn read(&self) -> Result<Reading> {
        if let Some(threads) = self.pid.and_then(Threads::read) {
            return Ok(Reading::Threads(threads));
        }
        let reported = match self.floor.as_ref().and_then(|floor| floor.server()) {
            Some(server) => server.cpu_time().await?,
            None => None,
        };
        Ok(reported.map_or(Reading::Unknown, Reading::Reported))
    }
}

impl Reading {
    /// The time since an `earlier` reading. A server that was restarted in between counts from zero, so it is
    /// unknown.
    pub(crate) fn since(&self, earlier: &Self) -> ServerTime {
        match (self, earlier) {
            (Self::Threads(after), Self::Threads(before)) => {
                ServerTime::Threads(after.since(before))
            }
            (Self::Reported(after), Self::Reported(before)) => after
                .checked_sub(*before)
                .map_or(ServerTime::Unknown, ServerTime::Reported),
            _ => ServerTime::Unknown,
        }
    }
}

impl ServerTime {
    pub(crate) fn total(&self) -> Option<Duration> {
        match self {
            Self::Threads(spent) => Some(spent.total()),
            Self::Reported(time) => Some(*time),
            Self::Unknown => None,
        }
    }

    pub(crate) fn threads(&self) -> Option<&Spent> {
        match self {
            Self::Threads(spent) => Some(spent),
            Self::Reported(_) | Self::Unknown => None,
        }
    }
}
