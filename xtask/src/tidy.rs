//! `cargo xtask tidy`: the rules of the house that neither rustc nor clippy knows.

mod rules;
mod tree;

use std::path::Path;

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
    let root = Metadata::read()?.workspace_root;
    let mut broken = 0;
    for file in tree::text_files(&root)? {
        let path = file.path.strip_prefix(&root).unwrap_or(&file.path);
        broken += report(path, &file.text);
    }
    match broken {
        0 => Ok(()),
        _ => Err(Failure::new(format!(
            "{broken} untidy; run it by hand: cargo xtask tidy"
        ))),
    }
}

fn report(path: &Path, text: &str) -> usize {
    let findings = rules::check(path, text);
    for finding in &findings {
        complain(&format!(
            "{}:{}: {}",
            path.display(),
            finding.line,
            finding.rule
        ));
    }
    findings.len()
}
