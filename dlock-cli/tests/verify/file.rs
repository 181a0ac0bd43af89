//! Files of this machine.

use dlock_verify::{ensure, support::Outcome};
use libtest_mimic::Trial;

use crate::support::{holds, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("file::a_directory_holds", a_directory_holds)]
}

async fn a_directory_holds() -> Outcome {
    let directory = tempfile::tempdir()?;
    let store = holds(&format!("file:{}", directory.path().display()), &[]).await?;
    ensure!(store.residue.removed > 0, "{:#?}", store.residue);
    let entries = std::fs::read_dir(directory.path())?;
    let left: Vec<_> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name())
        .collect();
    ensure!(left == ["layout"], "left behind: {left:?}");
    Ok(())
}
