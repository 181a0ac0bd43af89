//! Exchanges with the server: a round trip, or a durable write.

use std::{sync::Arc, time::Duration};

use dlock_core::{Clock, Error, ErrorKind, Result, backend::async_trait};
use dlock_raw::baseline::Floor;

use super::runner::{Runner, Sample};

/// Exchanges one after the other, with a pause before each.
///
/// After a pause everything has to be woken first, and an exchange takes longer. So the pause is as long as the one
/// of the workload that is compared.
pub(crate) struct Exchanging {
    pub(crate) floor: Arc<dyn Floor>,
    pub(crate) pause: Option<Duration>,
}

#[async_trait]
impl Runner for Exchanging {
    async fn slice(&mut self, window: Duration, _cycle: Duration) -> Result<Sample> {
        let no_server = || Error::new(ErrorKind::Unsupported, "the store has no server");
        let server = self.floor.server().ok_or_else(no_server)?;
        let clock = Clock::boottime();
        let end = clock.now().after(window);
        let mut sample = Sample {
            tasks: 1,
            window,
            ..Sample::default()
        };
        // At least one: a slow exchange is no reason to have none.
        while sample.all == 0 || clock.now() < end {
            if let Some(pause) = self.pause {
                tokio::time::sleep(pause).await;
            }
            let before = clock.now();
            server.round_trip().await?;
            sample.durations.push(clock.now().since(before));
            sample.all += 1;
        }
        Ok(sample)
    }
}
