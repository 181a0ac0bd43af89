//! The command line.

use std::path::PathBuf;

use clap::{Parser, builder::PossibleValuesParser};

use crate::stores;

/// The end of `--help`.
const MORE: &str = "\
Exit codes:
  0    all stores hold
  1    a store broke a promise, a fault never bit, or a store could not be tried
  2    the command line is wrong
  130  stopped by Ctrl-C: 128 and the number of the signal, such as 143 for TERM

Faults: a name that --only does not know shows those of the store; dlock-chaos/README.md describes them.";

/// The grants of each store.
const GRANTS: u64 = 10_000;

/// Try every fault on real servers, and check what dlock promises
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask chaos", bin_name = "cargo xtask chaos", after_help = MORE)]
pub(crate) struct Cli {
    /// Which stores [default: all]
    #[arg(value_name = "STORE", value_parser = PossibleValuesParser::new(stores::names()))]
    pub(crate) stores: Vec<String>,

    /// The seed of plan and programs, in hexadecimal [default: random]
    #[arg(long, value_parser = seed)]
    pub(crate) seed: Option<u64>,

    /// Only these faults
    #[arg(long, value_name = "FAULT", num_args = 1.., value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Search for the failure that this file kept: its fault and the two before, up to 50 times
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "only", "stores"])]
    pub(crate) replay: Option<PathBuf>,

    /// How many grants of each store, in parts of 10,000; those that are done are not repeated
    #[arg(long, default_value_t = GRANTS, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) grants: u64,

    /// At most so many minutes for each part
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) minutes: Option<u64>,

    /// Treat declared exceptions as failures: shows each of them
    #[arg(long)]
    pub(crate) strict: bool,

    /// Put the totals of each store that held into this file, in the place of its earlier ones
    #[arg(long, value_name = "FILE", conflicts_with_all = ["replay", "only", "strict"])]
    pub(crate) record: Option<PathBuf>,

    /// As continuous integration: a fixed seed, each fault once, 2,000 grants of each store
    #[arg(long, conflicts_with_all = ["replay", "grants", "minutes"])]
    pub(crate) ci: bool,
}

impl Cli {
    /// The arguments that repeat this run, with this seed.
    pub(crate) fn again(&self, seed: u64) -> String {
        if let Some(file) = &self.replay {
            let mut words = vec![format!("--replay {}", file.display())];
            words.extend(self.strict.then(|| "--strict".to_owned()));
            return words.join(" ");
        }
        let mut words = vec![format!("--seed {seed:x}")];
        if self.ci {
            words.push("--ci".to_owned());
        } else if self.grants != GRANTS {
            words.push(format!("--grants {}", self.grants));
        }
        words.extend(self.minutes.map(|minutes| format!("--minutes {minutes}")));
        if !self.only.is_empty() {
            words.push(format!("--only {}", self.only.join(",")));
        }
        words.extend(self.strict.then(|| "--strict".to_owned()));
        let record = self.record.as_ref();
        words.extend(record.map(|file| format!("--record {}", file.display())));
        words.join(" ")
    }
}

fn seed(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| "1 to 16 hexadecimal digits are allowed".to_owned())
}
