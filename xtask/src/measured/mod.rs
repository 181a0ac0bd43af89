//! `cargo xtask measured`: the tables of the docs that are printed from runs.

mod chaos;
mod data;
mod peers;
mod speed;
mod table;

use std::path::Path;

use clap::Args;

use self::{chaos::Chaos, peers::Peers, speed::Speed};
use crate::{failure::Result, metadata::Metadata, section::Section, step::say};

/// The folder of the runs that the tables are made of.
const FOLDER: &str = "docs/measured";

/// The run of `cargo xtask peers`.
pub(crate) const PEERS: &str = "docs/measured/peers.json";

/// The options of `cargo xtask measured`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Write the tables into the pages
    #[arg(long)]
    write: bool,
}

/// A table and the page that shows it.
struct Shown {
    page: &'static str,
    name: &'static str,
    table: String,
}

/// Prints the tables; writes them into the pages if `options` say so.
///
/// # Errors
///
/// When a run is missing or cannot be read, or a page has no place for its table.
pub(crate) fn run(options: &Options) -> Result<()> {
    let metadata = Metadata::read()?;
    let root = &metadata.workspace_root;
    for shown in tables(root)? {
        say(&format!(
            "{}: {}\n\n{}",
            shown.page, shown.name, shown.table
        ));
        if options.write {
            section(&shown).write(root, &shown.table)?;
        }
    }
    Ok(())
}

/// The tables of a run of `cargo xtask peers`.
///
/// # Errors
///
/// When `file` has no such run.
pub(crate) fn peers(file: &Path) -> Result<String> {
    Ok(Peers::read(file)?.tables())
}

/// Writes the tables of the kept run into their page.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn write_peers(root: &Path) -> Result<()> {
    let shown = peers_shown(root)?;
    section(&shown).write(root, &shown.table)
}

/// The pages whose tables are not those of the runs.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn outdated(root: &Path) -> Result<Vec<&'static str>> {
    let mut pages = Vec::new();
    for shown in tables(root)? {
        if section(&shown).read(root)? != shown.table {
            pages.push(shown.page);
        }
    }
    Ok(pages)
}

fn section(shown: &Shown) -> Section<'_> {
    Section {
        page: shown.page,
        name: shown.name,
    }
}

fn tables(root: &Path) -> Result<Vec<Shown>> {
    let folder = root.join(FOLDER);
    let chaos = Chaos::read(&folder.join("chaos.json"))?;
    let speed = Speed::read(&folder.join("bench.json"))?;
    let shown = |page, name, table| Shown { page, name, table };
    Ok(vec![
        shown("README.md", "guarantees", chaos.guarantees(&speed)),
        shown("docs/choosing.md", "speed", speed.table()),
        shown("dlock-chaos/README.md", "bites", chaos.bites()),
        shown("dlock-chaos/README.md", "exceptions", chaos.exceptions()),
        peers_shown(root)?,
    ])
}

fn peers_shown(root: &Path) -> Result<Shown> {
    Ok(Shown {
        page: "docs/peers.md",
        name: "peers",
        table: peers(&root.join(PEERS))?,
    })
}
