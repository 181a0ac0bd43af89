//! `cargo xtask peers`: dlock beside other lock clients, measured by the program of the crate `dlock-peers`.

use std::{fs, path::Path};

use clap::Args;

use crate::{
    command::Tool,
    failure::{Failure, Result},
    measured,
    memory_folder::MemoryFolder,
    metadata::Metadata,
    setup,
    step::{complain, say},
};

/// The figures of a run that is not kept.
const NOT_KEPT: &str = "target/peers.json";

/// The options of `cargo xtask peers`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Which of redis, redis-stable, valkey, redis-tls, redis-cluster, etcd, zk, mysql, mariadb [default: all that are
    /// installed]
    #[arg(value_name = "STORE")]
    stores: Vec<String>,

    /// Rounds that count; one more is a warm-up [default: 5]
    #[arg(long)]
    rounds: Option<String>,

    /// Seconds of a workload in a round; a hand-over has twice as many [default: 1]
    #[arg(long)]
    seconds: Option<String>,

    /// Seconds of contention and of a herd, which are in the first three rounds only [default: 10]
    #[arg(long, value_name = "SECONDS")]
    contention: Option<String>,

    /// Only these clients, separated by commas
    #[arg(long, value_name = "CLIENT")]
    only: Option<String>,

    /// Only these of cycles, once, apart, handover, contention, herd, separated by commas
    #[arg(long, value_name = "WORKLOAD")]
    workloads: Option<String>,

    /// Milliseconds of delay each way between clients and server
    #[arg(long, value_name = "MS")]
    delay: Option<String>,

    /// Keep the figures of these stores, and write them into docs/peers.md
    #[arg(long)]
    write: bool,
}

impl Options {
    /// All stores and clients, each for a moment.
    pub(crate) fn small() -> Self {
        Self {
            stores: Vec::new(),
            rounds: Some("1".to_owned()),
            seconds: Some("0.2".to_owned()),
            contention: Some("0.6".to_owned()),
            only: None,
            workloads: None,
            delay: None,
            write: false,
        }
    }
}

/// Installs the clients as far as they can be had, measures them and prints the tables.
///
/// # Errors
///
/// When dlock or a server fails, or a page cannot be written.
pub(crate) fn run(options: &Options) -> Result<()> {
    if let Err(failure) = setup::run() {
        complain(&format!("warning: {failure}"));
    }
    setup::for_peers()?;
    let root = Metadata::read()?.workspace_root;
    let file = root.join(match options.write {
        true => measured::PEERS,
        false => NOT_KEPT,
    });
    if !options.write {
        remove(&file)?;
    }
    let named = |name: &'static str, value: &Option<String>| {
        let value = value.clone();
        value
            .into_iter()
            .flat_map(move |value| [name.to_owned(), value])
    };
    let memory = MemoryFolder::open();
    let tool = Tool::cargo("run --quiet --release --package dlock-peers -- --record");
    let tool = match &memory {
        Some(memory) => tool.env("TMPDIR", &memory.path().display().to_string()),
        None => {
            complain(
                "warning: no room in memory for the servers' data: their disk is measured, too",
            );
            tool
        }
    };
    tool.args([&file])
        .args(named("--rounds", &options.rounds))
        .args(named("--seconds", &options.seconds))
        .args(named("--contention", &options.contention))
        .args(named("--only", &options.only))
        .args(named("--workloads", &options.workloads))
        .args(named("--delay", &options.delay))
        .args(&options.stores)
        .run()?;
    say(&measured::peers(&file)?);
    match options.write {
        true => measured::write_peers(&root),
        false => Ok(()),
    }
}

fn remove(file: &Path) -> Result<()> {
    match file.exists() {
        true => fs::remove_file(file)
            .map_err(|error| Failure::new(format!("cannot remove {}: {error}", file.display()))),
        false => Ok(()),
    }
}
