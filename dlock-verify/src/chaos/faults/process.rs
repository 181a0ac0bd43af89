//! Faults of worker processes.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    chaos::{
        fault::{Deal, Evidence, Fault, Site},
        trigger::Trigger,
    },
    random::Random,
    support::Outcome,
};

/// The fault whose worker writes under a lock that it has lost.
pub(in crate::chaos) const WRITES_LATE: &str = "stop-holder";

pub(super) fn all() -> Vec<Arc<dyn Fault>> {
    let mut faults: Vec<Arc<dyn Fault>> = Vec::new();
    for victim in [Victim::Holder, Victim::Waiter, Victim::Any] {
        for what in [What::Kill, What::Stop] {
            faults.push(Arc::new(ProcessFault { what, victim }));
        }
    }
    faults
}

/// A worker is killed or stopped.
#[derive(Debug)]
struct ProcessFault {
    what: What,
    victim: Victim,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// SIGKILL; a new worker starts in its place.
    Kill,
    /// SIGSTOP, later SIGCONT.
    Stop,
}

#[derive(Clone, Copy, Debug)]
enum Victim {
    /// Between its check and its write.
    Holder,
    Waiter,
    Any,
}

#[async_trait]
impl Fault for ProcessFault {
    fn id(&self) -> &'static str {
        match (self.what, self.victim) {
            (What::Kill, Victim::Holder) => "kill-holder",
            (What::Kill, Victim::Waiter) => "kill-waiter",
            (What::Kill, Victim::Any) => "kill-worker",
            (What::Stop, Victim::Holder) => WRITES_LATE,
            (What::Stop, Victim::Waiter) => "stop-waiter",
            (What::Stop, Victim::Any) => "stop-worker",
        }
    }

    fn trigger(&self, random: &mut Random, deal: &Deal) -> Trigger {
        match self.victim {
            Victim::Holder => Deal::before_write(random),
            Victim::Waiter => Deal::queued(random),
            Victim::Any => deal.any_trigger(random),
        }
    }

    fn lengths(&self) -> &'static [u32] {
        match self.victim {
            // Mostly long enough for others to write before it goes on.
            Victim::Holder => &[30, 11, 20, 2, 9],
            Victim::Waiter | Victim::Any => &[11, 2, 30, 9],
        }
    }

    fn evidence(&self) -> Evidence {
        Evidence::Worker
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let workers = &site.workers;
        let going_on = match self.what {
            What::Kill => workers.kill(site.worker).await?,
            What::Stop => workers.stop(site.worker).await?,
        };
        site.last().await;
        match self.what {
            What::Kill => workers.start_again(site.worker).await?,
            What::Stop => workers.resume(site.worker).await?,
        }
        Ok(going_on)
    }
}
