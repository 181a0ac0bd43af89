//! Renewals: the row of `dlock_epoch` must cover the ttl of each hold that goes on (K1).

use std::{sync::Arc, time::Duration};

use dlock_core::{
    BootInstant, Error, ErrorKind, Result,
    backend::{Lease, Renewed},
};

use crate::{
    conn::pool::Pool,
    epoch::{row, ttl_coverage::Coverage},
    errors,
    hold::handle::Hold,
    restart_guard::longest_ttl,
    sql::server::ServerStart,
    token::epoch,
};

/// Renews a hold by a heartbeat, and keeps its ttl covered.
pub(crate) async fn renew(pool: &Arc<Pool>, hold: &Arc<Hold>, lease: &Lease) -> Result<Renewed> {
    let renewed = hold.renew(pool, lease).await?;
    if matches!(renewed, Renewed::Until(_)) {
        keep_covered(pool, hold, lease.ttl).await?;
    }
    Ok(renewed)
}

/// Keeps `ttl` covered where `hold` is. Waits for the server only if the last reading is nearly three ttls old.
async fn keep_covered(pool: &Arc<Pool>, hold: &Arc<Hold>, ttl: Duration) -> Result<()> {
    let coverage = || pool.epochs.coverage(hold.session.start, ttl, now(pool));
    match coverage() {
        Coverage::Yes => Ok(()),
        Coverage::Soon => {
            let (pool, hold) = (pool.clone(), hold.clone());
            tokio::spawn(async move {
                if let Err(error) = reread(&pool, &hold, ttl).await {
                    tracing::debug!(%error, "the longest ttl in use could not be read");
                }
            });
            Ok(())
        }
        Coverage::No => {
            reread(pool, hold, ttl).await?;
            match coverage() {
                Coverage::No => Err(not_covered()),
                Coverage::Yes | Coverage::Soon => Ok(()),
            }
        }
    }
}

/// Reads the row, and writes `ttl` there if it is not covered.
async fn reread(pool: &Arc<Pool>, hold: &Arc<Hold>, ttl: Duration) -> Result<()> {
    match cover(pool, hold.session.start, ttl).await {
        // A statement that locks the table also stops the clients that would lower the ttl.
        Err(error) if errors::is_table_locked(&error) => {
            pool.epochs.mark_table_locked(now(pool));
            Ok(())
        }
        // The control connection is gone, and the server may have no room for another.
        Err(_) => hold.read_epoch(pool).await,
        Ok(()) => Ok(()),
    }
}

async fn cover(pool: &Pool, start: ServerStart, ttl: Duration) -> Result<()> {
    let mut epoch = epoch::query(pool, start, row::select()).await?;
    if epoch.start != start {
        return Err(errors::session_moved());
    }
    longest_ttl::cover(pool, start, &mut epoch, longest_ttl::whole_seconds(ttl)).await
}

fn not_covered() -> Error {
    let why =
        "the ttl of this lock could not be written down, for which a restarted server has to wait";
    Error::new(ErrorKind::Unavailable, why)
}

fn now(pool: &Pool) -> BootInstant {
    pool.connector.clock.now()
}
