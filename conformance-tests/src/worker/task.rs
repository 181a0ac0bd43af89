//! The tasks of workers.

use std::{pin::pin, time::Duration};

use dlock_core::{LockName, Locker, Mode};
use dlock_verify::{history::Recorder, support::Outcome};

use super::{
    client_churn::client_churn,
    pipe::Pipe,
    protocol::Task,
    workload::{Contest, increment},
};
use crate::target::Target;

/// How often a holder writes to the register.
const WORK_EVERY: Duration = Duration::from_millis(5);

impl Task {
    /// Runs the task as a client of `address`.
    pub(super) async fn run(
        &self,
        target: &dyn Target,
        address: &str,
        recorder: &Recorder,
        pipe: &Pipe,
    ) -> Outcome {
        let connect = async || -> Outcome<Locker> {
            Ok(Locker::builder(target.connect(address).await?).build()?)
        };
        let locker = match self {
            Self::ClientChurn { name } => {
                return client_churn(target, address, &LockName::new(name)?).await;
            }
            Self::Contend {
                name,
                rounds,
                shared_every,
                ttl,
            } => {
                let (rounds, shared_every, ttl) = (*rounds, *shared_every, *ttl);
                let (contest, locker) = (
                    Contest {
                        rounds,
                        shared_every,
                        ttl,
                    },
                    connect().await?,
                );
                contest
                    .run(&locker, &LockName::new(name)?, recorder, pipe)
                    .await?;
                locker
            }
            Self::Hold { name, ttl } => {
                let locker = connect().await?;
                hold(&locker, &LockName::new(name)?, *ttl, recorder, pipe).await?;
                locker
            }
        };
        Ok(locker.shutdown(target.tolerance()).await?)
    }
}

/// A holder stopped between its check of the guard and its write writes too late. The register's tokens
/// refuse that write.
async fn hold(
    locker: &Locker,
    name: &LockName,
    ttl: Duration,
    recorder: &Recorder,
    pipe: &Pipe,
) -> Outcome {
    let held = recorder
        .acquire(
            name,
            Mode::Exclusive,
            locker.acquire(name).ttl(ttl).wait_forever(),
        )
        .await?;
    let mut lost = pin!(held.guard().lost());
    loop {
        tokio::select! {
            biased;
            () = pipe.release_ordered() => break,
            _ = &mut lost => break,
            () = tokio::time::sleep(WORK_EVERY) => {
                if !held.report() {
                    break;
                }
                increment(&held, pipe).await?;
            }
        }
    }
    if held.report() {
        held.release().await?;
    }
    Ok(())
}
