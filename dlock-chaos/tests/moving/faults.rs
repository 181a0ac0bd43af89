//! The faults of a phase: a kill and a stop of a worker, and of each store an outage and a restart.

use std::time::Duration;

use dlock_verify::{history::FaultPhase, random::Random, support::Outcome};
use tokio::time::sleep;

use super::{
    fleet::{Ending, Fleet},
    protocol::TTL,
    stores::{Side, Stores},
};

/// After each fault every name is granted so often, before the next one.
const GRANTS_AFTER: u64 = 5;

/// An outage is shorter than the ttl, or longer.
const OUTAGES: [Duration; 2] = [Duration::from_millis(900), Duration::from_millis(2_600)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Kill,
    Stop,
    Outage(Side),
    Restart(Side),
}

impl Fault {
    const fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill-worker",
            Self::Stop => "stop-worker",
            Self::Outage(Side::Old) => "old-store-stop",
            Self::Outage(Side::New) => "new-store-stop",
            Self::Restart(Side::Old) => "old-store-restart",
            Self::Restart(Side::New) => "new-store-restart",
        }
    }
}

/// The faults of a move so far.
pub(crate) struct Faults {
    random: Random,
    count: u32,
}

impl Faults {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(!seed),
            count: 0,
        }
    }

    /// Plays all of them, in any order. `running` are the stores that still run.
    pub(crate) async fn play(
        &mut self,
        stores: &mut Stores,
        fleet: &mut Fleet,
        running: &[Side],
    ) -> Outcome {
        let mut faults = vec![Fault::Kill, Fault::Stop];
        for side in running {
            faults.extend([Fault::Outage(*side), Fault::Restart(*side)]);
        }
        while !faults.is_empty() {
            let chosen = self.random.below(faults.len() as u64);
            let fault = faults.swap_remove(usize::try_from(chosen)?);
            self.count += 1;
            fleet
                .book
                .fault(self.count, fault.name(), FaultPhase::Begun);
            self.strike(stores, fleet, fault).await?;
            fleet
                .book
                .fault(self.count, fault.name(), FaultPhase::Ended);
            fleet.book.granted(GRANTS_AFTER, fault.name()).await?;
        }
        Ok(())
    }

    async fn strike(&mut self, stores: &mut Stores, fleet: &mut Fleet, fault: Fault) -> Outcome {
        let index = fleet.any();
        match fault {
            Fault::Kill => {
                let url = fleet.url_of(index);
                fleet.replace(stores, index, url, Ending::Killed).await?;
            }
            Fault::Stop => {
                fleet.stop(index)?;
                // The others go on.
                sleep(TTL + TTL / 4).await;
                fleet.resume(index)?;
            }
            Fault::Outage(side) => {
                let is_long = usize::from(self.random.chance(300));
                stores.stop(side)?;
                if self.random.chance(500) {
                    let url = fleet.url_of(index);
                    fleet.replace(stores, index, url, Ending::Killed).await?;
                }
                sleep(OUTAGES[is_long]).await;
                stores.resume(side)?;
            }
            Fault::Restart(side) => stores.restart(side).await?,
        }
        Ok(())
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}
