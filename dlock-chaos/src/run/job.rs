//! The job: how much is to be done with each store.

use std::time::Duration;

use crate::cli::Cli;

/// The grants of one part. A run that is ended begins again with the part that it was in.
const PART_GRANTS: u64 = 10_000;

/// How often each fault strikes, in all parts together.
const TIMES: usize = 5;

/// The seed of continuous integration: a random one would fail for changes that did not cause it.
const CI_SEED: u64 = 0xd10c;

/// The grants of each store in continuous integration.
const CI_GRANTS: u64 = 2_000;

/// How long no store plays cards in continuous integration: five stores, two at a time, in 8 minutes.
const CI_LONGEST: Duration = Duration::from_secs(170);

/// How much is to be done with each store.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) seed: u64,
    /// The grants of each part.
    pub(crate) parts: Vec<u64>,
    /// How often each fault strikes, in all parts together.
    pub(crate) times: usize,
    pub(crate) longest: Option<Duration>,
    /// The faults; all if there are none.
    pub(crate) only: Vec<String>,
    /// Whether no exception is allowed.
    pub(crate) strict: bool,
}

impl Job {
    pub(crate) fn of(cli: &Cli) -> Self {
        let minutes = cli.minutes.map(|minutes| Duration::from_secs(minutes * 60));
        let (only, strict) = (cli.only.clone(), cli.strict);
        if cli.ci {
            return Self {
                seed: cli.seed.unwrap_or(CI_SEED),
                parts: vec![CI_GRANTS],
                times: 1,
                longest: Some(CI_LONGEST),
                only,
                strict,
            };
        }
        let (whole, rest) = (cli.grants / PART_GRANTS, cli.grants % PART_GRANTS);
        let whole = (0..whole).map(|_| PART_GRANTS);
        Self {
            seed: cli.seed.unwrap_or_else(rand::random),
            parts: whole.chain((rest > 0).then_some(rest)).collect(),
            times: TIMES,
            longest: minutes,
            only,
            strict,
        }
    }

    /// The seed of a part.
    pub(crate) fn seed_of(&self, part: usize) -> u64 {
        self.seed.wrapping_add(part as u64)
    }

    pub(crate) fn is_chosen(&self, fault: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == fault)
    }
}
