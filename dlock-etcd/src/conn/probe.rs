//! What is looked at when a connection is made.

use std::sync::Arc;

use dlock_core::{ErrorKind, Result};
use etcd_client::{Compare, CompareOp, KeyValue, Txn, TxnOp};

use crate::{
    conn::members::{Session, may_pass},
    keys as layout,
    ranges::{first, ranges},
};

/// Of these lines the versions below lose leases or deletions once in a while: a renewal that races a
/// revoke is confirmed though the keys are gone (etcd-io/etcd#14758), an old leader revokes leases
/// (#15247), a watch misses a deletion (#19179).
const SOUND_FROM: [(u64, u64, u64); 3] = [(3, 4, 38), (3, 5, 23), (3, 6, 5)];

/// Looks whether locks can be read and are kept in our layout, and warns of a version with known defects.
pub(crate) async fn check(session: &Arc<Session>) -> Result<()> {
    let record = layout::record(&session.config.prefix);
    // Linearizable: it takes a login, a permission and a leader.
    let read = session.ask(|client| {
        let record = &*record;
        async move { client.kv_client().get(record, None).await }
    });
    let read = read.await?;
    session.saw_term(read.header())?;
    let found = match first(read) {
        Some(found) => Some(found),
        None => write(session, &record).await?,
    };
    if let Some(found) = found {
        let words = String::from_utf8_lossy(found.value());
        // What follows is for later releases with the same layout.
        let version = words.split_whitespace().next().unwrap_or_default();
        layout::VERSION.check("etcd", version)?;
    }
    // Only for the warning: where it is not allowed there is none.
    let status = session.ask(|client| async move { client.maintenance_client().status().await });
    if let Ok(status) = status.await
        && let Some(fixed) = has_defects(status.version())
    {
        let (version, (major, minor, patch)) = (status.version(), fixed);
        tracing::warn!(
            "etcd {version} has known defects in leases and watches; {major}.{minor}.{patch} has not"
        );
    }
    Ok(())
}

/// Writes the version of the layout where there is none; or what somebody else has written meanwhile.
async fn write(session: &Arc<Session>, record: &str) -> Result<Option<KeyValue>> {
    let nobody = Compare::create_revision(record, CompareOp::Equal, 0);
    let txn = Txn::new()
        .when([nobody])
        .and_then([TxnOp::put(record, layout::VERSION.to_string(), None)])
        .or_else([TxnOp::get(record, None)]);
    let written = session.ask(|client| {
        let txn = txn.clone();
        async move { client.kv_client().txn(txn).await }
    });
    match written.await {
        Ok(answer) => Ok(ranges(answer.op_responses()).next().and_then(first)),
        // Who may only read, or a server that is full: locks say what they may.
        Err(error) if error.kind() == ErrorKind::Denied || may_pass(&error) => {
            tracing::debug!(%error, "the version of the layout was not written");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The version without the known defects, if this one has them.
fn has_defects(version: &str) -> Option<(u64, u64, u64)> {
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
            assert_eq!(has_defects(version), fixed, "{version}");
        }
    }
}
