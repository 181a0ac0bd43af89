//! The workloads of a run, its length and its seed.

use std::time::Duration;

use dlock::config::Config;

/// The run of the default workloads.
const RUN_FOR: Duration = Duration::from_secs(180);

/// The time of the workloads outside the rounds for one store, at most. A store without a server takes less.
const MORE_FOR_EACH: Duration = Duration::from_secs(80);
const MORE_WITHOUT_SERVER: Duration = Duration::from_secs(5);

/// The take-overs of all stores, which run at once.
const TAKEOVERS: Duration = Duration::from_secs(80);

/// The workloads of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// How long the whole run takes, with connecting and cleaning up; with [`Scope::All`] the rounds alone.
    pub run_for: Duration,
    /// Whether to measure all workloads.
    pub scope: Scope,
    /// The seed of all random choices: the order of the slices, the arrivals, the resamples.
    pub seed: u64,
}

/// The workloads of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// Cycles by 1 and by 64 tasks, on the same names and on names that are used once; hand-over, one shot.
    #[default]
    Default,
    /// Also cycles by 8 tasks, steady arrivals, contention, take-overs and held locks. It loads the servers.
    All,
}

impl Plan {
    /// The default workloads for three minutes.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            run_for: RUN_FOR,
            scope: Scope::Default,
            seed,
        }
    }

    /// Sets how long the run takes.
    #[must_use]
    pub fn run_for(self, run_for: Duration) -> Self {
        Self { run_for, ..self }
    }

    /// Sets the workloads.
    #[must_use]
    pub fn scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// How long the run takes for the stores of `configs`, at most about.
    ///
    /// ```
    /// # use dlock::config::Config;
    /// # use dlock_bench::{Plan, Scope};
    /// # fn main() -> dlock_core::Result<()> {
    /// let (plan, stores) = (Plan::new(7), [Config::from_url("file:/var/lock/app")?]);
    /// assert_eq!(plan.forecast(&stores), plan.run_for);
    /// assert!(plan.clone().scope(Scope::All).forecast(&stores) > plan.run_for);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn forecast(&self, configs: &[Config]) -> Duration {
        if self.scope == Scope::Default {
            return self.run_for;
        }
        let has_server = |config: &&Config| !config.url().hosts().is_empty();
        let servers = u32::try_from(configs.iter().filter(has_server).count()).unwrap_or(u32::MAX);
        let others = u32::try_from(configs.len()).unwrap_or(u32::MAX) - servers;
        let takeovers = if servers > 0 {
            TAKEOVERS
        } else {
            Duration::ZERO
        };
        let more = MORE_FOR_EACH.saturating_mul(servers);
        let more = more.saturating_add(MORE_WITHOUT_SERVER.saturating_mul(others));
        self.run_for.saturating_add(more).saturating_add(takeovers)
    }

    /// The numbers of tasks of the cycles.
    pub(crate) fn tasks(&self) -> &'static [u32] {
        match self.scope {
            Scope::Default => &[1, 64],
            Scope::All => &[1, 8, 64],
        }
    }

    /// The numbers of tasks of the cycles on names that are used once.
    pub(crate) fn tasks_of_new_names() -> &'static [u32] {
        &[1, 64]
    }
}
