//! The holder of a lock.

use std::time::Duration;

use dlock_core::{Holder, Result};
use redis::FromRedisValue;

use crate::{errors, keys::Keys, longest_ttl::LongestTtl, scripts::Call, topology::router::Router};

/// The answer of `PTTL` for a missing key.
const NO_KEY: i64 = -2;

/// Reads the value and the ttl of a lock.
pub(crate) async fn inspect(
    router: &Router,
    longest_ttl: &LongestTtl,
    keys: &Keys,
) -> Result<Option<Holder>> {
    let value: Option<Vec<u8>> = read(router, "GET", keys).await?;
    let Some(value) = value else { return Ok(None) };
    // A waiter has requested a notification by a newline at the end.
    let line = value.strip_suffix(b"\n").unwrap_or(&value);
    let ttl: i64 = read(router, "PTTL", keys).await?;
    let mut holder = Holder::decode(line, None);
    holder.remaining = u64::try_from(ttl).ok().map(Duration::from_millis);
    let of_dlock = holder.remaining.filter(|_| holder.attempt.is_some());
    holder.warning = of_dlock.and_then(|remaining| longest_ttl.warning(remaining));
    // The lock may end between the two requests.
    Ok((ttl != NO_KEY).then_some(holder))
}

async fn read<T: FromRedisValue>(router: &Router, verb: &'static str, keys: &Keys) -> Result<T> {
    let key = &keys.lock;
    let reply = router.send(Call::Read { verb, key }, None).await?;
    redis::from_redis_value(reply.value).map_err(errors::unexpected_reply)
}
