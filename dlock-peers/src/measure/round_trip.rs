//! The server's round trip, by the driver alone: the unit of a hand-over.

use dlock_core::{Clock, config::Config};
use dlock_raw::baseline::{self, Floor};

use crate::{failure::Failure, server::Server};

/// How many are measured in a round.
const COUNT: usize = 51;

/// A connection that is idle during the workloads.
pub(super) struct RoundTrip {
    floor: Box<dyn Floor>,
    clock: Clock,
    /// The medians of the rounds, in milliseconds.
    pub(super) rounds: Vec<(u32, f64)>,
}

impl RoundTrip {
    pub(super) async fn connect(server: &Server) -> Result<Self, Failure> {
        // dlock makes what the driver alone expects, such as a table.
        let config: Config = server.url().parse()?;
        drop(dlock::connect(config).await?);
        let found = baseline::open(&server.driver_url().parse()?).await?;
        Ok(Self {
            floor: found.floor.ok_or("the store has no driver")?,
            clock: Clock::boottime(),
            rounds: Vec::new(),
        })
    }

    /// The server and its version.
    pub(super) async fn version(&self) -> Result<String, Failure> {
        let version = match self.floor.server() {
            Some(server) => server.version().await?,
            None => None,
        };
        Ok(version.unwrap_or_default())
    }

    /// Measures it between two workloads.
    pub(super) async fn measure(&mut self, round: u32) -> Result<(), Failure> {
        let Some(server) = self.floor.server() else {
            return Ok(());
        };
        let mut times = Vec::new();
        for _ in 0..COUNT {
            let begin = self.clock.now();
            server.round_trip().await?;
            times.push(self.clock.now().since(begin).as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        self.rounds.push((round, times[COUNT / 2]));
        Ok(())
    }

    /// The medians of the rounds.
    pub(super) async fn close(self) -> Result<Vec<(u32, f64)>, Failure> {
        self.floor.close().await?;
        Ok(self.rounds)
    }
}
