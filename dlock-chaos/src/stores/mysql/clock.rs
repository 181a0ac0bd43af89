//! Faults of the server's clock, and of what depends on it: the epoch that tokens are counted from.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::Clock;
use dlock_servers::{SetClock, mysql::Node};
use dlock_verify::{
    chaos::{Evidence, Fault, Site},
    proxy::{Direction, Fault as LinkFault, Proxy},
    support::{Outcome, within},
};
use tokio::{sync::Mutex, time::sleep};

/// Steps of the clock, in seconds.
const STEPS: [i64; 4] = [3_600, 2, -3_600, -2];

/// A server sees that its clock was set within about a second.
const SEEN_MAX: Duration = Duration::from_secs(10);

/// How often the time of a server is read.
const POLL_EVERY: Duration = Duration::from_millis(50);

/// How far the clock is set back when the epoch is lost.
const BACK: i64 = -3_600;

/// A server that has been up for less grants nothing: a step of its clock ends that.
const FIRST_SECONDS: i64 = 2;

/// The row of the epoch as it is before the first lock.
const LOSE_ROW: &str = "UPDATE locks.dlock_epoch SET epoch = 0, boot = 0, base = 0, next_boot = 0, guarded_since = 0, \
                        ttl_max = 0, ttl_max_before = 0, period = 0 WHERE id = 1";

pub(super) fn all(node: &Arc<Mutex<Node>>, clock: &SetClock) -> Vec<Arc<dyn Fault>> {
    let (node, clock) = (node.clone(), clock.clone());
    vec![
        Arc::new(ClockSet {
            node: node.clone(),
            clock: clock.clone(),
        }),
        Arc::new(EpochLost { node, clock }),
    ]
}

/// The clock is set forward or back, and later right again.
struct ClockSet {
    node: Arc<Mutex<Node>>,
    clock: SetClock,
}

#[async_trait]
impl Fault for ClockSet {
    fn id(&self) -> &'static str {
        "clock-set"
    }

    fn evidence(&self) -> Evidence {
        Evidence::Own
    }

    fn alone(&self) -> bool {
        true
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let (node, step) = (self.node.lock().await, STEPS[site.choose(STEPS.len())]);
        set(&node, &self.clock, step, step).await?;
        site.last().await;
        set(&node, &self.clock, 0, -step).await?;
        Ok(1)
    }
}

/// Moves the clock by `step` to be `offset` off the true time, and waits until the server has seen it.
async fn set(node: &Node, clock: &SetClock, offset: i64, step: i64) -> Outcome {
    let (watch, before) = (Clock::boottime(), time(node).await?);
    let begin = watch.now();
    clock.set(offset)?;
    let seen = async {
        loop {
            let passed = i64::try_from(watch.now().since(begin).as_secs())?;
            let moved = time(node).await? - before - passed;
            if (moved - step).abs() <= 1 {
                return Outcome::Ok(());
            }
            sleep(POLL_EVERY).await;
        }
    };
    within(SEEN_MAX, "the server's clock is set", seen).await?
}

/// The server's time, in seconds.
async fn time(node: &Node) -> Outcome<i64> {
    let rows = node.query("SELECT UNIX_TIMESTAMP()").await?;
    Ok(rows.concat().concat().parse()?)
}

/// The content of the row of the epoch is lost, the clock is behind, and the server starts again. A worker that is
/// cut off is not notified.
struct EpochLost {
    node: Arc<Mutex<Node>>,
    clock: SetClock,
}

#[async_trait]
impl Fault for EpochLost {
    fn id(&self) -> &'static str {
        "epoch-lost"
    }

    /// Until the deadlines of the worker that is cut off.
    fn lengths(&self) -> &'static [u32] {
        &[10]
    }

    fn alone(&self) -> bool {
        true
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let mut node = self.node.lock().await;
        let proxies = site.workers.proxies(site.worker);
        node.query(LOSE_ROW).await?;
        pass(proxies, LinkFault::Hold);
        self.clock.set(BACK)?;
        node.restart().await?;
        set(&node, &self.clock, BACK + FIRST_SECONDS, FIRST_SECONDS).await?;
        site.last().await;
        pass(proxies, LinkFault::None);
        self.clock.set(0)?;
        node.restart().await?;
        Ok(0)
    }
}

fn pass(proxies: &[Proxy], fault: LinkFault) {
    for proxy in proxies {
        for direction in [Direction::ToServer, Direction::ToClient] {
            proxy.set(direction, fault);
        }
    }
}
