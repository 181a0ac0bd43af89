//! Data that were put back.

use std::{fs, time::Duration};

use dlock::LostCause;
use dlock_servers::{
    copy_directory,
    etcd::{Flavour, Node},
};

use crate::support::{Outcome, cases, connect, start, take, until_clean, within};

cases![k05_a_restored_server_is_detected_by_the_next_renewal];

const TTL: Duration = Duration::from_secs(6);

/// A busy machine may be so late.
const SLACK: Duration = Duration::from_secs(2);

/// The exception `etcd.restored`: the lock is forgotten, and its token given again. Its terms are smaller than
/// those that were seen before.
async fn k05_a_restored_server_is_detected_by_the_next_renewal(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let keys = "ttl=6s&timeout=1s";
    let other = connect(node.address(), keys).await?;
    take(&other, "b").await?.release().await?;
    until_clean(&node).await?;
    node.terminate().await?;
    let (data, backup) = (directory(&node, "data"), directory(&node, "backup"));
    copy_directory(&data, &backup, &[])?;
    // Each start is an election.
    for _ in 0..2 {
        node.resume().await?;
        node.kill()?;
    }
    node.resume().await?;
    let holder = connect(node.address(), keys).await?;
    let held = take(&holder, "a").await?;
    take(&other, "b").await?.release().await?;
    node.kill()?;
    fs::remove_dir_all(&data)?;
    fs::rename(&backup, &data)?;
    node.resume().await?;
    let restored = async {
        let next = take(&other, "a").await?;
        // It grants as it did, and renews.
        next.renew().await?;
        Outcome::Ok(next)
    };
    let reported = async { Outcome::Ok(held.lost().await) };
    let (next, cause) = within(TTL + SLACK, "the loss is reported", async {
        tokio::try_join!(restored, reported)
    })
    .await??;
    assert!(
        matches!(cause, LostCause::Removed | LostCause::SessionEnded),
        "{cause:?}"
    );
    assert!(next.token() <= held.token(), "it is no exception any more");
    next.release().await?;
    until_clean(&node).await
}

fn directory(node: &Node, name: &str) -> std::path::PathBuf {
    node.process().directory().join(name)
}
