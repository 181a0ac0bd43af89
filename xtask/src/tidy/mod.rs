//! `cargo xtask tidy`: the rules of the house that neither rustc nor clippy knows.

mod circles;
mod copies;
mod exceptions;
mod finding;
mod lines;
mod packaging;
mod prose;
mod ratchet;
mod references;
mod systems;
mod tree;

use std::path::Path;

use clap::Args;

use self::finding::Finding;
use crate::{
    failure::{Failure, Result},
    measured,
    metadata::Metadata,
    mutants,
    step::{complain, say},
};

/// The options of `cargo xtask tidy`.
#[derive(Debug, Default, Args)]
pub(crate) struct Options {
    /// Update the copies of licences, contract and README, and record counts that fell
    #[arg(long)]
    fix: bool,

    /// Print the places of a counted rule, such as `word told`, instead of checking
    #[arg(long, value_name = "RULE")]
    list: Option<String>,
}

/// Reads every text file of the project and prints each place that breaks a rule.
///
/// # Errors
///
/// When a rule is broken, or a file cannot be read.
pub(crate) fn run(options: &Options) -> Result<()> {
    let metadata = Metadata::read()?;
    let root = &metadata.workspace_root;
    let mut files = tree::text_files(root)?;
    if options.fix {
        copies::write(&metadata, &mut files)?;
    }
    let counted = prose::check(&files);
    if let Some(rule) = &options.list {
        let places = counted.get(rule).into_iter().flatten();
        places.for_each(|place| say(&place.to_string()));
        return Ok(());
    }
    if options.fix {
        ratchet::record(root, &counted)?;
    }
    let mut findings = circles::check(&metadata)?;
    findings.extend(ratchet::check(root, &counted)?);
    findings.extend(copies::check(&metadata, &files));
    findings.extend(packaging::check(&metadata));
    findings.extend(references::check(&files));
    findings.extend(exceptions::check(&files));
    findings.extend(systems::check(&files));
    findings.extend(misfits(&metadata, &files));
    findings.extend(outdated(root)?);
    for file in &files {
        findings.extend(lines::check(&file.path, &file.text));
    }
    for finding in &findings {
        complain(&finding.to_string());
    }
    match findings.len() {
        0 => Ok(()),
        broken => Err(Failure::new(format!(
            "{broken} untidy; run it by hand: cargo xtask tidy"
        ))),
    }
}

/// The mutants that no longer fit the code.
fn misfits(metadata: &Metadata, files: &[tree::TextFile]) -> Vec<Finding> {
    let files: Vec<_> = files
        .iter()
        .map(|file| (file.path.as_str(), file.text.as_str()))
        .collect();
    mutants::check::misfits(metadata, &files)
        .into_iter()
        .map(|misfit| Finding::of_file(&misfit.path, misfit.why))
        .collect()
}

/// The pages with other tables than those of the measured runs.
fn outdated(root: &Path) -> Result<Vec<Finding>> {
    let pages = measured::outdated(root)?.into_iter();
    let why = "its tables are not those of the runs; write them: cargo xtask measured --write";
    Ok(pages.map(|page| Finding::of_file(page, why)).collect())
}
