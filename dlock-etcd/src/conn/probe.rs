//! Checks of the store when a backend is connected.

use std::sync::Arc;

use dlock_core::{ErrorKind, Result};
use etcd_client::{Compare, CompareOp, KeyValue, Txn, TxnOp};

use crate::{
    conn::members::Members,
    keys,
    ranges::{first_key, ranges},
};

/// The first sound version of each line. Older ones lose leases or deletions once in a while. A renewal that races
/// a revoke is confirmed though the keys are gone (etcd-io/etcd#14758). An old leader revokes leases (#15247). A
/// watch misses a deletion (#19179).
const SOUND_FROM: [(u64, u64, u64); 3] = [(3, 4, 38), (3, 5, 23), (3, 6, 5)];

/// Checks that locks can be read and have our layout, and warns of a version with known defects.
pub(crate) async fn probe(members: &Arc<Members>) -> Result<()> {
    let record = keys::layout_record(members.config.key_prefix());
    // A linearizable read needs a login, a permission and a leader.
    let read = members.request(|client| {
        let record = &*record;
        async move { client.kv_client().get(record, None).await }
    });
    let read = read.await?;
    members.observe_raft_term(read.header())?;
    let found = match first_key(read) {
        Some(found) => Some(found),
        None => write_version(members, &record).await?,
    };
    if let Some(found) = found {
        let value = String::from_utf8_lossy(found.value());
        // Later releases with the same layout may append more.
        let version = value.split_whitespace().next().unwrap_or_default();
        members.config.format.layout().check("etcd", version)?;
    }
    // Only for the warning: a user without that permission gets none.
    let status =
        members.request(|client| async move { client.maintenance_client().status().await });
    if let Ok(status) = status.await
        && let Some((major, minor, patch)) = sound_version(status.version())
    {
        tracing::warn!(
            "etcd {} has known defects in leases and watches; {major}.{minor}.{patch} has not",
            status.version()
        );
    }
    Ok(())
}

/// Writes the version of the layout if there is none; returns the version that another process has
/// written since.
async fn write_version(members: &Arc<Members>, record: &str) -> Result<Option<KeyValue>> {
    let is_absent = Compare::create_revision(record, CompareOp::Equal, 0);
    let layout = members.config.format.layout();
    let txn = Txn::new()
        .when([is_absent])
        .and_then([TxnOp::put(record, layout.to_string(), None)])
        .or_else([TxnOp::get(record, None)]);
    let written = members.request(|client| {
        let txn = txn.clone();
        async move { client.kv_client().txn(txn).await }
    });
    match written.await {
        Ok(reply) => Ok(ranges(reply.op_responses()).next().and_then(first_key)),
        // A user who may only read, or a full server: acquires report what is not allowed.
        Err(error) if error.kind() == ErrorKind::Denied || error.is_retryable() => {
            tracing::debug!(%error, "the version of the layout was not written");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The version without the known defects, if `version` has them.
fn sound_version(version: &str) -> Option<(u64, u64, u64)> {
    let mut numbers = version
        .split(['.', '-', '+'])
        .map_while(|word| word.parse().ok());
    let found = (numbers.next()?, numbers.next()?, numbers.next()?);
    let line = |sound: &&(u64, u64, u64)| (sound.0, sound.1) >= (found.0, found.1);
    let sound = SOUND_FROM.iter().find(line)?;
    (found < *sound).then_some(*sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_with_known_defects_are_named_with_their_fix() {
        for (version, fixed) in [
            ("3.4.23", Some((3, 4, 38))),
            ("3.4.38", None),
            ("3.5.22", Some((3, 5, 23))),
            ("3.5.30", None),
            ("3.6.0-rc.1", Some((3, 6, 5))),
            ("3.6.5", None),
            ("3.7.0", None),
            ("3.3.27", Some((3, 4, 38))),
            ("newest", None),
        ] {
            assert_eq!(sound_version(version), fixed, "{version}");
        }
    }
}
