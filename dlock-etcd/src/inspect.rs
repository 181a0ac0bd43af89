//! Reads the holder of a lock.

use std::{sync::Arc, time::Duration};

use dlock_core::{Holder, LockName, Result};

use crate::{
    conn::members::Members,
    keys,
    ranges::{first_key, holder_of},
};

/// The holder of `name`, with the remaining time of its lease; `None` if the lock is free.
pub(crate) async fn inspect(members: &Arc<Members>, name: &LockName) -> Result<Option<Holder>> {
    let (format, prefix) = (members.config.format, members.config.key_prefix());
    keys::check(format, prefix, name)?;
    let queue = keys::queue(format, prefix, name);
    let range = members.request(|client| {
        let queue = queue.clone();
        async move { client.kv_client().get(queue, Some(holder_of(format))).await }
    });
    let Some(key) = first_key(range.await?) else {
        return Ok(None);
    };
    let mut holder = keys::holder(&key);
    let lease = key.lease();
    if lease == 0 {
        return Ok(Some(holder));
    }
    let remaining = members
        .request(|client| async move { client.lease_client().time_to_live(lease, None).await });
    let remaining = remaining.await?.ttl();
    holder.remaining = u64::try_from(remaining).ok().map(Duration::from_secs);
    // A negative time: the lease ended between the two requests.
    Ok((remaining >= 0).then_some(holder))
}
