//! The holder of a lock.

use std::time::Duration;

use dlock_core::{Holder, Result};
use redis::FromRedisValue;

use crate::{errors, keys::Keys, longest_ttl::LongestTtl, scripts::Call, topology::router::Router};

/// The answer of `PTTL` for a missing key.
const NO_KEY: i64 = -2;

/// The longest field of another client that is shown. That of Redisson has 36 letters, a colon and a number.
const FIELD_BYTES_MAX: usize = 128;

/// Reads the holder and the ttl of a lock.
pub(crate) async fn inspect(
    router: &Router,
    longest_ttl: &LongestTtl,
    keys: &Keys,
) -> Result<Option<Holder>> {
    let found = match router.options.format.has_hashes() {
        true => read_hash(router, keys).await?,
        false => read_string(router, keys).await?,
    };
    let Some(mut holder) = found else {
        return Ok(None);
    };
    let ttl: i64 = read(router, keys, "PTTL", &[]).await?;
    holder.remaining = u64::try_from(ttl).ok().map(Duration::from_millis);
    let of_dlock = holder.remaining.filter(|_| holder.attempt.is_some());
    holder.warning = of_dlock.and_then(|remaining| longest_ttl.warning(remaining));
    // The lock may end between the two requests.
    Ok((ttl != NO_KEY).then_some(holder))
}

async fn read_string(router: &Router, keys: &Keys) -> Result<Option<Holder>> {
    let value: Option<Vec<u8>> = read(router, keys, "GET", &[]).await?;
    Ok(value.map(|value| {
        // A waiter has requested a notification by a newline at the end.
        let line = value.strip_suffix(b"\n").unwrap_or(&value);
        Holder::decode(line, None)
    }))
}

/// The holder of a lock that is a hash. The note of another client is its field, by which people find it.
async fn read_hash(router: &Router, keys: &Keys) -> Result<Option<Holder>> {
    // A plain lock has one field. Two are enough to see that it is another hash, however large that is.
    let fields: Vec<Vec<u8>> = read(router, keys, "HRANDFIELD", &["2"]).await?;
    let field = match &fields[..] {
        [] => return Ok(None),
        [field] => field,
        _ => return Ok(Some(Holder::foreign())),
    };
    let mut holder = Holder::decode(field, None);
    if holder.attempt.is_none() && field.len() <= FIELD_BYTES_MAX {
        holder.note = Some(String::from_utf8_lossy(field).into_owned());
    }
    Ok(Some(holder))
}

async fn read<T: FromRedisValue>(
    router: &Router,
    keys: &Keys,
    verb: &'static str,
    args: &'static [&'static str],
) -> Result<T> {
    let key = &keys.lock;
    let reply = router.send(Call::Read { verb, key, args }, None).await?;
    redis::from_redis_value(reply.value).map_err(errors::unexpected_reply)
}
