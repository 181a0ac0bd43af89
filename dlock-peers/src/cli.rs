//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum, builder::PossibleValuesParser};

use crate::{catalogue, store::Store};

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

    /// Seconds of a workload in a round; a hand-over has twice as many
    #[arg(long, default_value = "1", value_parser = seconds)]
    pub(crate) seconds: Duration,

    /// Seconds of contention and of a herd, which are in the first three rounds only
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = contention)]
    pub(crate) contention: Duration,

    /// Only these clients
    #[arg(
        long,
        value_name = "CLIENT",
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(catalogue::names())
    )]
    pub(crate) only: Vec<String>,

    /// Only these workloads
    #[arg(long, value_name = "WORKLOAD", value_delimiter = ',', value_enum)]
    pub(crate) workloads: Vec<Workload>,

    /// Clients of a herd
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values_t = [20, 200])]
    pub(crate) herd: Vec<usize>,

    /// Milliseconds from a client to the server, and as many back
    #[arg(long, value_name = "MS", value_parser = delay)]
    pub(crate) delay: Option<Duration>,

    /// Put the figures of each store into this file, in the place of its earlier ones
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

/// A workload of the README.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    Cycles,
    Once,
    Apart,
    #[value(name = "handover")]
    HandOver,
    Contention,
    Herd,
}

/// The shortest slice has some hundred cycles, the longest does not let a client's lock expire.
const SECONDS: [f64; 2] = [0.05, 5.0];

/// A client has half a minute for its answer.
const CONTENTION_SECONDS: [f64; 2] = [0.05, 20.0];

/// A lock is not to expire on its way.
const DELAY_MS: [f64; 2] = [0.1, 500.0];

fn seconds(text: &str) -> Result<Duration, String> {
    number(text, SECONDS).map(Duration::from_secs_f64)
}

fn contention(text: &str) -> Result<Duration, String> {
    number(text, CONTENTION_SECONDS).map(Duration::from_secs_f64)
}

fn delay(text: &str) -> Result<Duration, String> {
    number(text, DELAY_MS).map(|millis| Duration::from_secs_f64(millis / 1e3))
}

fn number(text: &str, [least, most]: [f64; 2]) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("{least} to {most} are allowed"))
}
