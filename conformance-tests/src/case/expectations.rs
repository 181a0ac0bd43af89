//! Expectations of a case about locks and guards, within its bounds.

use std::{fmt::Display, time::Duration};

use dlock_core::{BootInstant, Error, ErrorKind, Fencing, Guard, LockName, Result};
use dlock_verify::{
    ensure,
    support::{Outcome, within},
};
use tokio::time::timeout;

use super::context::CaseContext;

/// A clock is read a little later than the other one that it is compared with.
const READ: Duration = Duration::from_millis(5);

impl CaseContext {
    /// Awaits `future` for `bound` plus the tolerance, or fails with `what`.
    pub(crate) async fn within<T>(
        &self,
        bound: Duration,
        what: impl Display,
        future: impl IntoFuture<Output = T>,
    ) -> Outcome<T> {
        within(bound + self.tolerance(), what, future).await
    }

    /// As [`within`](Self::within), with the tolerance as the only bound.
    pub(crate) async fn soon<T>(
        &self,
        what: impl Display,
        future: impl IntoFuture<Output = T>,
    ) -> Outcome<T> {
        self.within(Duration::ZERO, what, future).await
    }

    /// Fails unless another client finds `name` taken.
    pub(crate) async fn expect_taken(&self, name: &LockName) -> Outcome {
        let guard = self.observer().await?.try_acquire(name).await?;
        ensure!(guard.is_none(), "{name:?} is free, but a guard holds it");
        Ok(())
    }

    /// Fails unless another client finds `name` free right now.
    pub(crate) async fn expect_free(&self, name: &LockName) -> Outcome {
        let guard = self.observer().await?.try_acquire(name).await?;
        let guard = guard.ok_or_else(|| format!("{name:?} is taken, but no guard holds it"))?;
        Ok(guard.release().await?)
    }

    /// Fails unless another client acquires `name` within the tolerance.
    ///
    /// A clean-up in the background takes less, and [`ttl_long`](Self::ttl_long) is far longer.
    pub(crate) async fn expect_free_soon(&self, name: &LockName) -> Outcome {
        Ok(self.take(name, Duration::ZERO).await?.release().await?)
    }

    /// Fails unless `successor` is held: requests of the former holder have spared it.
    pub(crate) async fn expect_spared(&self, successor: Guard) -> Outcome {
        self.expect_taken(successor.name()).await?;
        successor.renew().await?;
        Ok(successor.release().await?)
    }

    /// Another client's guard of `name`, granted within `bound` plus the tolerance.
    pub(crate) async fn take(&self, name: &LockName, bound: Duration) -> Outcome<Guard> {
        let observer = self.observer().await?;
        match observer.acquire(name).wait(bound + self.tolerance()).await {
            Err(error) if error.kind() == ErrorKind::Contended => {
                let holder = observer.inspect(name).await?;
                Err(
                    format!("{name:?} is still taken after {bound:?} and tolerance: {holder:?}")
                        .into(),
                )
            }
            other => Ok(other?),
        }
    }
}

/// Fails unless `guard` is lost at `deadline`: one ttl after the request that was confirmed last.
pub(crate) async fn lost_by(
    context: &CaseContext,
    guard: &Guard,
    deadline: BootInstant,
) -> Outcome {
    let left = deadline.since(context.clock.now()) + READ;
    if timeout(left, guard.lost()).await.is_err() {
        ensure!(!guard.is_held(), "held after its deadline");
    }
    context.soon("the loss", guard.lost()).await?;
    Ok(())
}

/// The error of `what`, which fails as its lock was lost.
pub(crate) fn loss_error<T>(what: &str, result: Result<T>) -> Outcome<Error> {
    let error = error_of(what, result)?;
    ensure!(error.is_lost(), "{what} says: {error}");
    Ok(error)
}

/// The error of `what`, which has an unknown effect and is not a loss.
pub(crate) fn unknown_error<T>(what: &str, result: Result<T>) -> Outcome<Error> {
    let error = error_of(what, result)?;
    ensure!(!error.is_lost(), "{what} became a loss: {error}");
    Ok(error)
}

fn error_of<T>(what: &str, result: Result<T>) -> Outcome<Error> {
    let error = result.err();
    error.ok_or_else(|| format!("{what} is a success").into())
}

/// Fails unless the later one of two guards has the larger token, where tokens grow (K5).
pub(crate) fn grown(context: &CaseContext, first: &Guard, second: &Guard) -> Outcome {
    let grows = context.capabilities.fencing == Fencing::Growing;
    let (first, second) = (first.token(), second.token());
    ensure!(first < second || !grows, "token {second} after {first}");
    Ok(())
}
