//! Files: the directory, without making it.

pub(super) mod checks;
mod directory;
mod file_system;

use dlock_core::{
    Result,
    config::{Config, Settings},
};
use dlock_file::FileConfig;

use super::report::Report;

/// Reads the state of the directory of a URL.
pub(super) fn probe(config: &Config) -> Result<Report> {
    let files = FileConfig::from_settings(&mut Settings::of(config)?)?;
    let mut report = Report::default();
    "files".clone_into(&mut report.about.product);
    report
        .about
        .servers
        .push(files.directory().display().to_string());
    let found = directory::judge(files.directory(), &mut report)?;
    if let Some(found) = found {
        file_system::judge(&found, &mut report);
    }
    Ok(report)
}
