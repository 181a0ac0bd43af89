//! Acquiring a lock: one try, or a wait.

use std::sync::Arc;

use dlock_core::{
    Error, Result,
    backend::{AcquireRequest, Lease, Wait},
};

use crate::{
    acquire::{
        acquisition::Acquisition,
        attempt::{Contended, try_acquire},
        wait::{straight_to_queue, wait},
    },
    conn::pool::Pool,
    monitor::Monitor,
};

mod acquisition;
mod attempt;
mod blocked;
mod grant;
mod statement;
mod undo;
mod wait;

/// Acquires the lock by one try, or then by a wait.
pub(crate) async fn acquire(
    pool: &Arc<Pool>,
    monitor: &Arc<Monitor>,
    request: &AcquireRequest,
) -> Result<Lease> {
    let permit = pool.permit()?;
    let acquisition = Acquisition::new(pool, monitor, request);
    match request.wait {
        Wait::Never => match try_acquire(&acquisition, permit).await? {
            Ok(lease) => Ok(lease),
            Err(Contended(held)) => {
                pool.put(held.connection);
                Err(Error::contended())
            }
        },
        Wait::UntilCancelled => {
            let first = match straight_to_queue(&acquisition, &permit) {
                Some(contended) => Ok(Err(contended)),
                None => try_acquire(&acquisition, permit.clone()).await,
            };
            match first {
                Ok(Ok(lease)) => Ok(lease),
                // Boxed, as most locks are free: the futures of acquires stay small.
                first => Box::pin(wait(&acquisition, permit, first)).await,
            }
        }
    }
}
