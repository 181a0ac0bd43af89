//! Files: the directory and its file system.

use std::{fs, os::unix::fs::PermissionsExt as _};

use dlock_raw::probe::{
    Severity::{Danger, Note},
    probe,
};
use tempfile::TempDir;

use crate::support::{
    Flavour, Outcome, assert_fine, assert_healthy, cases, finding, refused, report_of,
};

cases![
    a_directory_of_its_own_has_nothing_to_mend,
    a_directory_that_others_may_write_to_is_a_danger,
    a_temporary_directory_is_noted,
    a_missing_directory_is_not_made,
    a_file_in_its_place_is_a_danger,
];

/// A directory that no system cleans up.
fn lasting() -> Outcome<TempDir> {
    Ok(TempDir::new_in(env!("CARGO_TARGET_TMPDIR"))?)
}

async fn a_directory_of_its_own_has_nothing_to_mend(_: Flavour) -> Outcome {
    let directory = lasting()?;
    let report = report_of(format!("file:{}", directory.path().display())).await?;
    assert_fine(
        &report,
        &["file.unrecognized", "file.directory", "file.no-inotify"],
    );
    // The sources of the tests may be in a temporary directory, and its disk may be full.
    let mut report = report;
    report
        .findings
        .retain(|finding| !matches!(finding.id, "file.disk" | "file.removed"));
    assert!(report.checked.contains(&"file.disk"));
    assert_healthy(&report);
    assert_eq!(report.about.product, "files");
    assert_eq!(fs::read_dir(directory.path())?.count(), 0);
    Ok(())
}

async fn a_directory_that_others_may_write_to_is_a_danger(_: Flavour) -> Outcome {
    let directory = lasting()?;
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777))?;
    let report = report_of(format!("file:{}", directory.path().display())).await?;
    let found = finding(&report, Danger, "file.directory")?;
    assert!(found.found.contains("777"), "{found:?}");
    assert!(found.advice.starts_with("chmod go-w"), "{found:?}");
    Ok(())
}

async fn a_temporary_directory_is_noted(_: Flavour) -> Outcome {
    let directory = TempDir::new_in("/tmp")?;
    let report = report_of(format!("file:{}", directory.path().display())).await?;
    let found = finding(&report, Note, "file.removed")?;
    assert_eq!(found.exception, Some("file.removed"));
    Ok(())
}

async fn a_missing_directory_is_not_made(_: Flavour) -> Outcome {
    let directory = lasting()?;
    let missing = directory.path().join("locks");
    let report = report_of(format!("file:{}", missing.display())).await?;
    finding(&report, Note, "file.directory")?;
    assert!(!missing.exists());
    let deep = missing.join("more");
    // Nothing is there to be read.
    let deep = format!("file:{}", deep.display());
    let error = refused(probe(&deep.parse()?).await)?;
    assert_eq!(error.kind(), dlock::ErrorKind::InvalidConfig, "{error}");
    Ok(())
}

async fn a_file_in_its_place_is_a_danger(_: Flavour) -> Outcome {
    let directory = lasting()?;
    let file = directory.path().join("locks");
    fs::write(&file, "")?;
    let report = report_of(format!("file:{}", file.display())).await?;
    let found = finding(&report, Danger, "file.directory")?;
    assert!(found.found.contains("no directory"), "{found:?}");
    Ok(())
}
