//! A migration from files, whose lost locks stay taken.

use std::process::Stdio;

use dlock_servers::redis::Persistence;
use dlock_verify::{ensure, support::Outcome};
use libtest_mimic::Trial;
use tokio::process::Command;

use super::server::start;
use crate::support::{holds, trial};

pub(super) fn trials() -> Vec<Trial> {
    vec![trial(
        "redis::a_migration_from_files_holds",
        a_migration_from_files_holds,
    )]
}

async fn a_migration_from_files_holds() -> Outcome {
    let (node, folder) = (
        start(Persistence::AofAlways, &[]).await?,
        tempfile::tempdir()?,
    );
    let old = format!("file:{}", folder.path().display());
    let address = node.address();
    // Above the tokens of files.
    let new = format!("redis://{address}?restart_guard=0s&token_base=9007199254740992");
    let begun = Command::new(env!("CARGO_BIN_EXE_dlock"))
        .args(["migrate", "start", &old, &new])
        .env_remove("DLOCK_URL")
        .env_remove("DLOCK_CONFIG")
        .stdin(Stdio::null())
        .output()
        .await?;
    ensure!(begun.status.success(), "{begun:?}");
    let new = new.replace('?', "%3F").replace('&', "%26");
    holds(&format!("migrate:?from={old}&to={new}"), &[]).await?;
    Ok(())
}
