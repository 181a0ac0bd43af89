//! The server's clock is set.

use std::{io, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::toolkit::Lock;
use dlock_servers::{SetClock, redis::Node};
use dlock_verify::{
    chaos::{Deal, Fault, Site, Trigger},
    random::Random,
    support::Outcome,
};
use tokio::{sync::Mutex, time::sleep};

use super::{keys, times::TTL};

/// A server sees its clock within this.
const SEEN_AFTER: Duration = Duration::from_millis(1_500);

/// The steps in seconds: the long one for faults of two ttls and more.
const STEPS: [i64; 2] = [3_600, 2];

/// A lock that lives so many ttls is one of a dead holder.
const TTLS: u32 = 10;

pub(super) fn all(clock: &SetClock, node: &Arc<Mutex<Node>>) -> Vec<Arc<dyn Fault>> {
    let offset = Arc::new(Lock::new(0));
    let step = |way| Step {
        way,
        clock: clock.clone(),
        offset: offset.clone(),
        node: node.clone(),
    };
    vec![Arc::new(step(Way::Forward)), Arc::new(step(Way::Back))]
}

/// A step of the clock, which stays.
struct Step {
    way: Way,
    clock: SetClock,
    /// In seconds; of all steps so far.
    offset: Arc<Lock<i64>>,
    node: Arc<Mutex<Node>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Locks and guards end early.
    Forward,
    /// A dead holder's lock lives longer.
    Back,
}

#[async_trait]
impl Fault for Step {
    fn id(&self) -> &'static str {
        match self.way {
            Way::Forward => "clock-forward",
            Way::Back => "clock-back",
        }
    }

    fn lengths(&self) -> &'static [u32] {
        &[20, 11]
    }

    fn trigger(&self, random: &mut Random, _: &Deal) -> Trigger {
        Deal::before_write(random)
    }

    fn alone(&self) -> bool {
        true
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let step = STEPS[usize::from(site.length < site.ttl * 2)];
        if self.way == Way::Back {
            // A holder that is dead by then.
            site.workers.kill(site.worker).await?;
        }
        self.set(step)?;
        sleep(SEEN_AFTER).await;
        site.last().await;
        site.workers.start_again(site.worker).await?;
        Ok(0)
    }

    async fn mend(&self) -> Outcome {
        let node = self.node.lock().await;
        for (key, left) in keys::locks(&node).await? {
            if left > TTL * TTLS {
                node.command(&["DEL", &key]).await?;
            }
        }
        Ok(())
    }
}

impl Step {
    fn set(&self, step: i64) -> io::Result<()> {
        let mut offset = self.offset.lock();
        *offset += match self.way {
            Way::Forward => step,
            Way::Back => -step,
        };
        self.clock.set(*offset)
    }
}
