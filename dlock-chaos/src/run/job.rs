//! The job: how much is to be done with each store.

use std::{ops::Range, path::PathBuf, time::Duration};

use crate::cli::Cli;

/// The grants of one part. A run that is ended begins again with the part that it was in.
const PART_GRANTS: u64 = 10_000;

/// How often each fault strikes in all parts, at least: once in each.
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
    /// How often each fault strikes in a part.
    times: usize,
    /// The arguments that repeat this job, without the stores.
    pub(crate) again: String,
    pub(crate) longest: Option<Duration>,
    /// The faults; all if there are none.
    pub(crate) only: Vec<String>,
    /// Whether no exception is allowed.
    pub(crate) strict: bool,
    /// Where the totals are kept.
    pub(crate) record: Option<PathBuf>,
}

impl Job {
    pub(crate) fn of(cli: &Cli) -> Self {
        let minutes = cli.minutes.map(|minutes| Duration::from_secs(minutes * 60));
        let (only, strict, record) = (cli.only.clone(), cli.strict, cli.record.clone());
        let seed = match cli.seed {
            Some(seed) => seed,
            None if cli.ci => CI_SEED,
            None => rand::random(),
        };
        if cli.ci {
            return Self {
                seed,
                parts: vec![CI_GRANTS],
                times: 1,
                again: cli.again(seed),
                longest: Some(CI_LONGEST),
                only,
                strict,
                record,
            };
        }
        let (whole, rest) = (cli.grants / PART_GRANTS, cli.grants % PART_GRANTS);
        let whole = (0..whole).map(|_| PART_GRANTS);
        let parts: Vec<_> = whole.chain((rest > 0).then_some(rest)).collect();
        Self {
            seed,
            times: TIMES.div_ceil(parts.len()),
            parts,
            again: cli.again(seed),
            longest: minutes,
            only,
            strict,
            record,
        }
    }

    /// The seed of a part.
    pub(crate) fn seed_of(&self, part: usize) -> u64 {
        self.seed.wrapping_add(part as u64)
    }

    /// The turns of each fault in a part.
    pub(crate) fn turns_of(&self, part: usize) -> Range<usize> {
        part * self.times..(part + 1) * self.times
    }

    /// Whether parts that are done need not be repeated: all have parts, and nothing was left out.
    pub(crate) fn is_resumed(&self) -> bool {
        self.parts.len() > 1 && self.only.is_empty() && !self.strict
    }

    pub(crate) fn is_chosen(&self, fault: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == fault)
    }
}
