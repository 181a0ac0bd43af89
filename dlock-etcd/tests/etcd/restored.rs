//! Data that were put back.

use std::{fs, path::Path, time::Duration};

use dlock::LostCause;
use dlock_servers::etcd::{Flavour, Node};

use crate::support::{Outcome, cases, connect, queue_keys, start, take, until_clean, within};

cases![k05_a_restored_server_is_found_by_the_next_renewal];

const TTL: Duration = Duration::from_secs(3);

/// A busy machine may be so late.
const SLACK: Duration = Duration::from_secs(2);

/// The exception `etcd.restored`: the lock is forgotten, and its token given again. Its terms are smaller than
/// those that were seen before.
async fn k05_a_restored_server_is_found_by_the_next_renewal(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let keys = "ttl=3s&timeout=1s";
    let first = connect(node.address(), keys).await?;
    take(&first, "b").await?.release().await?;
    until_clean(&node).await?;
    node.terminate().await?;
    let (data, backup) = (directory(&node, "data"), directory(&node, "backup"));
    copy(&data, &backup)?;
    // Each start is an election.
    for _ in 0..2 {
        node.resume().await?;
        node.kill()?;
    }
    node.resume().await?;
    let (holder, other) = (
        connect(node.address(), keys).await?,
        connect(node.address(), keys).await?,
    );
    let held = take(&holder, "a").await?;
    node.kill()?;
    fs::remove_dir_all(&data)?;
    fs::rename(&backup, &data)?;
    node.resume().await?;
    let restored = take(&other, "a");
    let notified = async { Outcome::Ok(held.lost().await) };
    let (next, cause) = within(TTL + SLACK, "the loss", async {
        tokio::try_join!(restored, notified)
    })
    .await??;
    assert!(
        matches!(cause, LostCause::Removed | LostCause::SessionEnded),
        "{cause:?}"
    );
    assert!(next.token() <= held.token(), "it is no exception any more");
    // It renews. It moves to another lease once, as the term is another one, and not with each renewal.
    let lease = async || Outcome::Ok(queue_keys(&node, "a").await?.first().map(|key| key.lease));
    let lost = tokio::time::timeout(TTL, next.lost()).await;
    assert!(lost.is_err(), "{lost:?}");
    let before = lease().await?;
    let lost = tokio::time::timeout(2 * TTL, next.lost()).await;
    assert!(lost.is_err(), "{lost:?}");
    assert_eq!(lease().await?, before);
    next.release().await?;
    until_clean(&node).await
}

fn directory(node: &Node, name: &str) -> std::path::PathBuf {
    node.process().directory().join(name)
}

fn copy(from: &Path, to: &Path) -> Outcome {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), &to)?;
        }
    }
    Ok(())
}
