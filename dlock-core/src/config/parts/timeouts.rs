//! The time limits of a connection.

use std::{ops::RangeInclusive, time::Duration};

use crate::{
    base::error::Result,
    config::{check::check_duration, settings::Settings},
};

/// The time limits of connections: the keys `connect_timeout` and `timeout`.
///
/// ```
/// use std::time::Duration;
///
/// use dlock_core::config::Timeouts;
///
/// let mut timeouts = Timeouts::new(Duration::from_secs(5), Duration::from_secs(2));
/// timeouts.reply = Duration::from_millis(5);
/// let error = timeouts.check().unwrap_err();
/// assert_eq!(error.to_string(), "timeout 5ms is out of range (10ms to 1m)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// Key `connect_timeout`: for connecting, login and probe included.
    pub connect: Duration,
    /// Key `timeout`: for a reply.
    pub reply: Duration,
}

impl Timeouts {
    /// The shortest time limit.
    pub const MIN: Duration = Duration::from_millis(10);
    /// The longest time limit.
    pub const MAX: Duration = Duration::from_secs(60);

    /// Makes the time limits of a backend by default.
    #[must_use]
    pub const fn new(connect: Duration, reply: Duration) -> Self {
        Self { connect, reply }
    }

    /// Takes `connect_timeout` and `timeout`; what is not given stays as it is.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a value that is malformed or out of range.
    pub fn take(&mut self, settings: &mut Settings) -> Result<()> {
        let connect = settings.take_duration("connect_timeout", Self::allowed())?;
        let reply = settings.take_duration("timeout", Self::allowed())?;
        self.connect = connect.unwrap_or(self.connect);
        self.reply = reply.unwrap_or(self.reply);
        Ok(())
    }

    /// Checks both.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a value out of range.
    pub fn check(&self) -> Result<()> {
        check_duration("connect_timeout", self.connect, Self::allowed())?;
        check_duration("timeout", self.reply, Self::allowed())
    }

    fn allowed() -> RangeInclusive<Duration> {
        Self::MIN..=Self::MAX
    }
}
