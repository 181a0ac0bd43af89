//! `cargo xtask tidy`: the rules of the house that neither rustc nor clippy knows.

mod circles;
mod finding;
mod lines;
mod tree;

use crate::{
    failure::{Failure, Result},
    metadata::Metadata,
    step::complain,
};

/// Reads every text file of the project and prints each place that breaks a rule.
///
/// # Errors
///
/// When a rule is broken, or a file cannot be read.
pub(crate) fn run() -> Result<()> {
    let metadata = Metadata::read()?;
    let files = tree::text_files(&metadata.workspace_root)?;
    let mut findings = circles::check(&metadata)?;
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
