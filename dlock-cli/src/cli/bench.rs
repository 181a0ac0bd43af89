//! The command line of `dlock bench`.

use std::{path::PathBuf, time::Duration};

use dlock::config::Host;

use crate::{base::duration, verify::bounds};

/// Arguments of `dlock bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Bench {
    /// The stores, measured in turns [default: the configured one]
    #[arg(value_name = "URL")]
    pub(crate) urls: Vec<String>,

    /// Start the servers that this machine has, and measure them, too
    #[arg(long)]
    pub(crate) local: bool,

    /// Duration of the whole run; with --all that of the workloads in turns
    #[arg(long = "for", value_name = "TIME", default_value = "3m", allow_hyphen_values = true, value_parser = duration::parse_positive)]
    pub(crate) run_for: Duration,

    /// The seed of all random choices: hexadecimal digits [default: a new one]
    #[arg(long, value_name = "SEED", value_parser = parse_seed)]
    pub(crate) seed: Option<u64>,

    /// Measure all workloads; this takes longer and loads the servers
    #[arg(long)]
    pub(crate) all: bool,

    /// Agree that --all loads the servers; a script has to
    #[arg(long, requires = "all")]
    pub(crate) yes: bool,

    /// Verify each store before it is measured, as `dlock verify` does, for this time
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = bounds::RUN_FOR, value_parser = duration::parse_positive)]
    pub(crate) verify: Option<Duration>,

    /// Take the verdicts from this file, the JSON of an earlier `dlock verify`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["verify", "compare"])]
    pub(crate) verify_file: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a report to this file: HTML, with the JSON inside
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Show this earlier run, the JSON or the report of one, instead of measuring
    #[arg(long, value_name = "FILE", conflicts_with_all = ["urls", "local", "run_for", "all", "verify", "seed", "url", "config"])]
    pub(crate) from: Option<PathBuf>,

    /// Compare two earlier runs, each the JSON or the report of one, instead of measuring
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with_all = ["urls", "local", "all", "verify", "seed", "from", "report", "url", "config"])]
    pub(crate) compare: Option<Vec<PathBuf>>,

    /// With --compare: exit with 1 if the new run is worse by more than this, such as 5%
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub(crate) fail_over: Option<f64>,
}

/// Arguments of a further process of `dlock bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct BenchWorker {
    /// Take and free this lock once, instead of serving requests
    #[arg(long)]
    pub(crate) once: Option<String>,

    /// Keep the cores from sleeping, instead of serving requests
    #[arg(long)]
    pub(crate) spin: bool,

    /// The servers, instead of those of the URL
    #[arg(long)]
    pub(crate) host: Vec<Host>,
}

/// Reads a seed: 1 to 16 hexadecimal digits.
fn parse_seed(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text, 16)
        .ok()
        .filter(|_| !text.starts_with('+'))
        .ok_or_else(|| "a seed has 1 to 16 hexadecimal digits, such as 7f3a90c2".to_owned())
}

/// Reads `5%` as 0.05.
fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text
        .strip_suffix('%')
        .and_then(|text| text.parse::<f64>().ok());
    number
        .filter(|percent| (0.0..=1_000.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "a part in percent is needed, such as 5%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_and_percents_have_one_form() {
        assert_eq!(parse_seed("7f3a90c2"), Ok(0x7f3a_90c2));
        for bad in ["", "+7", "7g", "10000000000000000"] {
            assert!(parse_seed(bad).is_err(), "{bad:?}");
        }
        assert!((parse_percent("5%").expect("5 %") - 0.05).abs() < 1e-12);
        for bad in ["5", "-1%", "%", "NaN%", "2000%"] {
            assert!(parse_percent(bad).is_err(), "{bad:?}");
        }
    }
}
