//! Reading and raising the epoch: tokens without a durable write for each grant.
//!
//! `UUID_SHORT()` counts up while a server runs. The locking statement evaluates it after the grant, so the
//! order of its values is the order of the grants. An *epoch* precedes it over restarts and failovers: one row
//! that the first connection to each server start raises, once:
//!
//! `token = epoch · 2^20 + (UUID_SHORT − base)`
//!
//! * The epoch is at least the time in seconds, so a raise that a crash took back does no harm.
//! * It is raised again when it is half a minute old. A former primary that comes back by itself has counted
//!   on, and the true primary must soon be ahead of it. Other connections still use the old epoch; so an epoch
//!   counts for [`SERIALS`] values only, and a raise uses these up first.
//! * Two starts within one second would count alike, so a server grants nothing in its first two.
//! * No client raises it before the restart guard of a start is over ([`crate::restart_guard`]). So a row that names a
//!   start proves that it grants, at any time of the server's clock.
//! * A server that was demoted and promoted again without a restart has connections from before. So a reading
//!   counts for half a second, and then the row is read again after the grant. A server that takes over from
//!   another one waits as long before it raises the epoch. Until then it grants nothing.
//!
//! What remains: the row is lost *and* the server's clock was set back.

use dlock_core::Result;

use crate::{
    conn::{control::ControlTurn, pool::Pool},
    epoch::row::{self, Epoch, SERIAL_MASK, SERIALS},
    errors,
    sql::{server::ServerStart, tables::EPOCH},
};

/// Raises `epoch`, which is used up or lags, while the server grants; unless another client has done so. It
/// returns the epoch that counts then.
pub(crate) async fn raise(pool: &Pool, start: ServerStart, epoch: &Epoch) -> Result<Epoch> {
    let (number, boot, select) = (epoch.number, start.0, row::select());
    // The server evaluates the summands in order, while the row is locked, and only if it is unchanged.
    let sql = format!(
        "UPDATE {EPOCH} SET epoch = GREATEST(epoch + 1, UNIX_TIMESTAMP()), base = (BENCHMARK({SERIALS}, \
         UUID_SHORT()) + UUID_SHORT()) & {SERIAL_MASK} WHERE id = 1 AND epoch = {number} AND boot = \
         {boot}; {select}"
    );
    let epoch = query(pool, start, sql).await?;
    if epoch.start != start {
        return Err(errors::session_moved());
    }
    Ok(epoch)
}

/// Sends `sql`, which ends with [`row::select`], to `start` on the control connection, and shares the reading.
pub(crate) async fn query(pool: &Pool, start: ServerStart, sql: String) -> Result<Epoch> {
    let sent = pool.connector.clock.now();
    let query = move |mut turn: ControlTurn| async move {
        turn.reach(start).await?;
        turn.query(&sql).await
    };
    let rows = pool.tables()?.run(query).await;
    // The lock is ours: contention is about the row of the epoch, or its table.
    let rows = rows.map_err(errors::of_table_statement)?;
    let epoch = Epoch::find(&rows, sent)?.ok_or_else(row::missing_row)?;
    pool.epochs.store(epoch);
    Ok(epoch)
}
