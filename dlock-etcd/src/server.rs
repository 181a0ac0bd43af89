//! What is looked at when a connection is made.

use std::sync::Arc;

use dlock_core::Result;

use crate::{queries::keys_only, session::Session};

/// Of these lines the versions below lose leases or deletions once in a while: a renewal that races a
/// revoke is confirmed though the keys are gone (etcd-io/etcd#14758), an old leader revokes leases
/// (#15247), a watch misses a deletion (#19179).
const SOUND_FROM: [(u64, u64, u64); 3] = [(3, 4, 38), (3, 5, 23), (3, 6, 5)];

/// Looks whether locks can be read, and warns of a version with known defects.
pub(crate) async fn check(session: &Arc<Session>) -> Result<()> {
    let prefix = match &*session.config.prefix {
        // No key is empty.
        "" => "\0",
        prefix => prefix,
    };
    let options = keys_only().with_limit(1);
    // Linearizable: it takes a login, a permission and a leader.
    let read = session.ask(|client| {
        let options = options.clone();
        async move { client.kv_client().get(prefix, Some(options)).await }
    });
    read.await?;
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
