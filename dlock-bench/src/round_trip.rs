//! How long an exchange with the server takes.

use std::time::Duration;

use dlock_core::{Clock, Error, ErrorKind, Result};

use crate::{Summary, baselines::Server, measure::Durations};

/// Measures exchanges for `run_for`, at least one, with a `pause` before each.
///
/// The pause is as long as the one of the server between two requests of the workload that is compared. After a
/// pause everything has to be woken first, and an exchange takes longer.
pub(crate) async fn measure(
    server: &dyn Server,
    pause: Duration,
    run_for: Duration,
) -> Result<Summary> {
    let clock = Clock::boottime();
    let start = clock.now();
    let mut durations = Durations::new();
    loop {
        tokio::time::sleep(pause).await;
        let before = clock.now();
        server.round_trip().await?;
        let after = clock.now();
        durations.record(after.since(before));
        if after.since(start) >= run_for {
            let nothing = || Error::new(ErrorKind::Internal, "no exchange was counted");
            return durations.sum_up(after.since(start)).ok_or_else(nothing);
        }
    }
}
