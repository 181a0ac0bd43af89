//! Writing the longest ttl in use, for which a restarted server waits ([`crate::restart_guard::restart`]).
//!
//! The value is in the row of the epoch, and is written before the first grant with a longer one. Later
//! grants read it with the epoch, without a further round trip. [`crate::epoch::ttl_coverage`] has the
//! rules.

use std::time::Duration;

use dlock_core::Result;

use crate::{
    conn::pool::Pool,
    epoch::row::{self, Epoch},
    sql::{server::ServerStart, tables::EPOCH},
    token::epoch,
};

/// Makes the row cover a ttl of `seconds`, or lowers it if a longer one is not in use any more. `epoch` is the
/// reading of a connection to `start`. Sends a request only if the row must change.
pub(crate) async fn cover(
    pool: &Pool,
    start: ServerStart,
    epoch: &mut Epoch,
    seconds: u64,
) -> Result<()> {
    if u64::from(epoch.ttl_max) < seconds {
        pool.epochs.refresh(epoch, start);
    }
    if u64::from(epoch.ttl_max) < seconds {
        *epoch = epoch::query(pool, start, raise(seconds)).await?;
    } else if epoch.longest_ttl() > Duration::from_secs(seconds) {
        let now = pool.connector.clock.now();
        let period = pool.epochs.period(epoch, now);
        if period.is_over(epoch.longest_ttl(), now) {
            *epoch = epoch::query(pool, start, lower(epoch, seconds)).await?;
        }
    }
    Ok(())
}

fn raise(seconds: u64) -> String {
    let select = row::select();
    format!("UPDATE {EPOCH} SET ttl_max = {seconds} WHERE id = 1 AND ttl_max < {seconds}; {select}")
}

fn lower(epoch: &Epoch, seconds: u64) -> String {
    let (period, longest) = (epoch.period, epoch.longest_ttl().as_secs());
    let select = row::select();
    format!(
        "UPDATE {EPOCH} SET ttl_max_before = ttl_max, ttl_max = {seconds}, period = period + 1 WHERE id = 1 \
         AND period = {period} AND GREATEST(ttl_max, ttl_max_before) = {longest}; {select}"
    )
}

/// Whole seconds, and never less than the ttl.
pub(crate) fn whole_seconds(ttl: Duration) -> u64 {
    ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0)
}
