//! What workers do.

use std::{pin::pin, time::Duration};

use dlock_core::{LockName, Locker};
use dlock_verify::{history::Recorder, support::Outcome};

use super::{
    client_churn::churn,
    pipe::Pipe,
    protocol::Task,
    workload::{Contest, increment},
};
use crate::target::Target;

/// A holder works this often.
const WORK_EVERY: Duration = Duration::from_millis(5);

impl Task {
    /// Does the task as a client of `address`.
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
            Self::Churn { name } => return churn(target, address, &LockName::new(name)?).await,
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
        Ok(locker.shutdown(target.slack()).await?)
    }
}

/// A holder that is stopped between its look at the guard and its write will write too late: what
/// the register's tokens are for.
async fn hold(
    locker: &Locker,
    name: &LockName,
    ttl: Duration,
    recorder: &Recorder,
    pipe: &Pipe,
) -> Outcome {
    let held = recorder
        .acquire(name, false, locker.acquire(name).ttl(ttl).wait_forever())
        .await?;
    let mut lost = pin!(held.guard().lost());
    loop {
        tokio::select! {
            biased;
            () = pipe.told_to_release() => break,
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
