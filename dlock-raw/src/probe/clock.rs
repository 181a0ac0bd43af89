//! A server's clock beside this machine's: the assumption of K2.

use std::time::Duration;

use dlock_core::{BootInstant, Clock, Result, backend::async_trait};

/// The number of readings, of which the one with the shortest reply counts.
const READINGS: usize = 5;

/// One reading of a server's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The server's time, in microseconds since 1970.
    server: u64,
    /// This machine's time, also.
    here: u64,
    /// The middle between request and reply.
    at: BootInstant,
    /// The greatest distance of that from the server's reading.
    error: Duration,
}

/// The rate of a server's clock, compared with this machine's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    /// How much faster the server's clock is, in parts per million.
    pub(crate) ppm: f64,
    /// The bound of the error of that.
    pub(crate) error_ppm: f64,
    /// The time between the two readings.
    pub(crate) over: Duration,
}

/// A server whose clock can be read.
#[async_trait]
pub(crate) trait ServerClock: Send + Sync {
    /// The time, in microseconds since 1970.
    async fn micros(&self) -> Result<u64>;
}

/// Reads the server's clock by `read`, which returns microseconds since 1970.
pub(crate) async fn sample<E, F>(clock: &Clock, read: impl Fn() -> F) -> Result<Sample, E>
where
    F: Future<Output = Result<u64, E>>,
{
    let mut best = once(clock, &read).await?;
    for _ in 1..READINGS {
        let next = once(clock, &read).await?;
        if next.error < best.error {
            best = next;
        }
    }
    Ok(best)
}

async fn once<E, F>(clock: &Clock, read: &impl Fn() -> F) -> Result<Sample, E>
where
    F: Future<Output = Result<u64, E>>,
{
    let sent = clock.now();
    let server = read().await?;
    let error = clock.now().since(sent) / 2;
    Ok(Sample {
        server,
        here: clock.unix_micros().saturating_sub(micros(error)),
        at: sent.after(error),
        error,
    })
}

impl Sample {
    /// How far the server's clock is ahead of this machine's (negative: behind), in seconds.
    #[cfg(any(feature = "mysql", feature = "redis"))]
    #[expect(clippy::cast_precision_loss, reason = "far below a microsecond")]
    pub(crate) fn ahead_s(&self) -> f64 {
        (self.server as f64 - self.here as f64) / 1e6
    }

    /// The rate since an earlier reading; `None` if no time has passed.
    pub(crate) fn rate_since(&self, earlier: &Self) -> Option<Rate> {
        let over = self.at.since(earlier.at);
        if over.is_zero() {
            return None;
        }
        let server = Duration::from_micros(self.server.saturating_sub(earlier.server));
        let passed = over.as_secs_f64();
        let error = (self.error + earlier.error).as_secs_f64();
        Some(Rate {
            ppm: (server.as_secs_f64() - passed) / passed * 1e6,
            error_ppm: error / passed * 1e6,
            over,
        })
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_the_error_of_both_readings() {
        let clock = Clock::manual();
        let at = clock.now();
        let sample = |server, after: u64| Sample {
            server,
            here: 0,
            at: at.after(Duration::from_micros(after)),
            error: Duration::from_micros(50),
        };
        let rate = sample(1_020_000, 1_000_000).rate_since(&sample(0, 0));
        let rate = rate.expect("time has passed");
        assert!((rate.ppm - 20_000.0).abs() < 1.0, "{rate:?}");
        assert!((rate.error_ppm - 100.0).abs() < 1.0, "{rate:?}");
        assert_eq!(sample(5, 0).rate_since(&sample(0, 0)), None);
    }
}
