//! Faults of the server's clock, and of what depends on it: the epoch that tokens are counted from.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{BootInstant, Clock};
use dlock_servers::{SetClock, mysql::Node};
use dlock_verify::{
    chaos::{Evidence, Fault, Site},
    proxy::{Direction, Fault as LinkFault, Proxy},
    support::{Outcome, within},
};
use tokio::{sync::Mutex, time::sleep};

/// Steps of the clock, in seconds. The first one forward makes clients raise an epoch that is not old.
const STEPS: [i64; 4] = [-3_600, 32, 2, -2];

/// A clock that was set back shows the time of the epoch within this. Each start of the server adds a second.
const CAUGHT_UP_MAX: Duration = Duration::from_secs(60);

/// Whether the time of the epoch has come.
const CAUGHT_UP: &str =
    "SELECT 1 FROM locks.dlock_epoch WHERE id = 1 AND epoch <= UNIX_TIMESTAMP()";

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

    /// Until the clock has come as far as the epoch, a fault that loses data would lose the order of tokens, too
    /// (`mysql.lost-row`). So an administrator waits.
    async fn mend(&self) -> Outcome {
        let caught_up = async {
            while self.node.lock().await.query(CAUGHT_UP).await?.is_empty() {
                sleep(POLL_EVERY).await;
            }
            Outcome::Ok(())
        };
        within(CAUGHT_UP_MAX, "the time of the epoch", caught_up).await?
    }
}

/// Moves the clock by `step` to be `offset` off the true time, and waits until the server has seen it.
async fn set(node: &Node, clock: &SetClock, offset: i64, step: i64) -> Outcome {
    let watch = Clock::boottime();
    let before = Reading::take(node, &watch).await?;
    clock.set(offset)?;
    let seen = async {
        while !Reading::take(node, &watch).await?.is_after(&before, step)? {
            sleep(POLL_EVERY).await;
        }
        Outcome::Ok(())
    };
    within(SEEN_MAX, "the server's clock is set", seen).await?
}

/// The time of a server, in seconds, read between two times of this machine: an answer may take seconds.
struct Reading {
    begin: BootInstant,
    time: i64,
    end: BootInstant,
}

impl Reading {
    async fn take(node: &Node, watch: &Clock) -> Outcome<Self> {
        let begin = watch.now();
        let rows = node.query("SELECT UNIX_TIMESTAMP()").await?;
        Ok(Self {
            begin,
            time: rows.concat().concat().parse()?,
            end: watch.now(),
        })
    }

    /// Whether the clock may have moved by `step` since `before`. It shows whole seconds.
    fn is_after(&self, before: &Self, step: i64) -> Outcome<bool> {
        let least = i64::try_from(self.begin.since(before.end).as_secs())?;
        let most = i64::try_from(self.end.since(before.begin).as_secs())? + 1;
        let moved = self.time - before.time;
        Ok((moved - most - 1..=moved - least + 1).contains(&step))
    }
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
