//! The interface of a fault.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use super::{trigger::Trigger, workers::Workers};
use crate::{random::Random, support::Outcome};

/// One kind of fault.
///
/// To add one to a store: implement this in the file of the store in `dlock-chaos/src/stores`, with a handle to its
/// servers, and list it in `Store::faults`. If it breaks a promise by a declared exception, give it
/// a row in `exceptions.toml`, and let it be [`alone`](Self::alone).
#[async_trait]
pub trait Fault: Send + Sync {
    /// The name in plans and tables, such as `server-kill`.
    fn id(&self) -> &'static str;

    /// The lengths to choose from, in tenths of the ttl.
    fn lengths(&self) -> &'static [u32] {
        &[11, 2, 30, 9]
    }

    /// A trigger for one card. By default any; a fault of holders or waiters chooses theirs.
    fn trigger(&self, random: &mut Random, deal: &Deal) -> Trigger {
        deal.any_trigger(random)
    }

    /// The evidence that it has bitten.
    fn evidence(&self) -> Evidence {
        Evidence::Clients
    }

    /// Whether no other fault may be on with it, and all clients settle after it: its effects are its own then.
    fn alone(&self) -> bool {
        false
    }

    /// Strikes, lasts for [`Site::length`], and is undone when it returns.
    ///
    /// The result is how often the fault has bitten by evidence of its own, such as scripts that a server lacked.
    /// What happens to the clients is counted by the run.
    ///
    /// # Errors
    ///
    /// When it cannot strike or be undone; the run fails then.
    ///
    /// # Cancel safety
    ///
    /// Not safe: the fault may stay.
    async fn strike(&self, site: &Site) -> Outcome<u64>;

    /// Does what an administrator has to do in the end, such as to delete an entry that outlives its holder.
    ///
    /// A run calls it when the witness has seen what a fault that is [`alone`](Self::alone) has left.
    ///
    /// # Errors
    ///
    /// When it cannot be done; the run fails then.
    ///
    /// # Cancel safety
    ///
    /// Not safe.
    async fn mend(&self) -> Outcome {
        Ok(())
    }
}

/// The evidence that a fault has bitten, beside its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a run judges each of them")]
pub enum Evidence {
    /// Losses, missing answers and refused writes of the worker that it struck.
    Worker,
    /// Losses, missing answers and refused writes of all workers.
    Clients,
    /// Nothing else.
    Own,
}

/// The names, workers and proxies that a trigger is dealt from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Deal {
    /// The number of names.
    pub names: usize,
    /// The number of workers.
    pub workers: usize,
    /// Whether workers reach servers through proxies.
    pub has_proxies: bool,
}

/// Where and how long a fault strikes.
#[derive(Debug)]
#[non_exhaustive]
pub struct Site {
    /// All workers.
    pub workers: Arc<Workers>,
    /// The number of the worker that the trigger happened to.
    pub worker: usize,
    /// How long the fault lasts.
    pub length: Duration,
    /// The ttl of the locks.
    pub ttl: Duration,
    /// A random number of the card, for choices of the fault.
    pub choice: u64,
}

impl Deal {
    pub(super) const fn new(names: usize, workers: usize, has_proxies: bool) -> Self {
        Self {
            names,
            workers,
            has_proxies,
        }
    }

    /// Any trigger, of which a third strikes during the fault before.
    pub fn any_trigger(&self, random: &mut Random) -> Trigger {
        match random.below(if self.has_proxies { 6 } else { 5 }) {
            0 => Self::before_write(random),
            1 => Self::queued(random),
            2 => Trigger::Grant {
                name: below(random, self.names),
                nth: nth(random),
            },
            3 | 4 => Trigger::During {
                ms: random.below(500),
            },
            _ => Trigger::Burst {
                worker: below(random, self.workers),
                nth: nth(random),
            },
        }
    }

    /// A holder between its check and its write.
    pub fn before_write(random: &mut Random) -> Trigger {
        Trigger::BeforeWrite { nth: nth(random) }
    }

    /// A waiter of a held name.
    pub fn queued(random: &mut Random) -> Trigger {
        Trigger::Queued { nth: nth(random) }
    }
}

impl Site {
    /// An index below `count`, chosen by the card.
    #[must_use]
    pub fn choose(&self, count: usize) -> usize {
        below(&mut Random::new(self.choice), count)
    }

    /// Records that the fault has removed the store's entry of a lock, so that its holder is to learn of it (K8).
    pub fn destroyed(&self, name: &str) {
        self.workers.destroyed(name);
    }

    /// Waits for the length of the fault.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn last(&self) {
        tokio::time::sleep(self.length).await;
    }
}

fn nth(random: &mut Random) -> u32 {
    u32::try_from(random.below(5)).unwrap_or_default() + 1
}

fn below(random: &mut Random, count: usize) -> usize {
    usize::try_from(random.below(count.max(1) as u64)).unwrap_or_default()
}
