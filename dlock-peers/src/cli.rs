//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::{Parser, builder::PossibleValuesParser};

use crate::{catalogue, server::Store};

/// Measure dlock beside other lock clients on the same servers
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask peers", bin_name = "cargo xtask peers")]
pub(crate) struct Cli {
    /// Which stores [default: all]
    #[arg(value_name = "STORE", value_enum)]
    pub(crate) stores: Vec<Store>,

    /// Rounds that count; one more is a warm-up
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,

    /// Seconds of a workload in a round; a hand-over has 2 and contention has 3 times as many
    #[arg(long, default_value = "1", value_parser = seconds)]
    pub(crate) seconds: Duration,

    /// Only these clients
    #[arg(
        long,
        value_name = "CLIENT",
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(catalogue::names())
    )]
    pub(crate) only: Vec<String>,

    /// Put the figures of each store into this file, in the place of its earlier ones
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

/// The shortest slice has some hundred cycles, the longest does not let a client's lock expire.
const SECONDS: [f64; 2] = [0.05, 5.0];

fn seconds(text: &str) -> Result<Duration, String> {
    let [least, most] = SECONDS;
    let seconds = text.parse().ok();
    let seconds = seconds.filter(|seconds| (least..=most).contains(seconds));
    let seconds = seconds.ok_or_else(|| format!("{least} to {most} are allowed"))?;
    Ok(Duration::from_secs_f64(seconds))
}
