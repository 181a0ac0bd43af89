//! Removes what a verification has left, by the names of its locks.

use std::{slice::from_ref, sync::Arc};

use dlock::{LockName, Result};
use dlock_raw::residue::Residue as Traces;
use dlock_verify::verdict::Residue;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    bounds::{SWEEP_AGAIN, SWEEP_AT_ONCE, SWEEP_MAX},
    target::Subject,
};

/// Removes all that is left of the locks, and counts it. In a store whose entries cannot be listed it does nothing: a
/// finding about its scheme says so.
///
/// # Cancel safety
///
/// Locks that are not removed yet expire.
pub(crate) async fn run(residue: &mut Residue, subject: &Subject) {
    if dlock_raw::backend(subject.config.url().scheme()).is_none() {
        return;
    }
    let (mut names, mut is_listed) = (subject.used.all(), false);
    let removing = async {
        let traces = Arc::new(Traces::open(&subject.config).await?);
        // The session of a worker that was killed may keep its row or file for a moment.
        loop {
            names = remove(residue, subject, &traces, &names).await?;
            is_listed = true;
            if names.is_empty() {
                let unreached = traces.unreached();
                if let Some(traces) = Arc::into_inner(traces) {
                    traces.close().await;
                }
                return unreached.map_or(Ok(()), Err);
            }
            sleep(SWEEP_AGAIN).await;
        }
    };
    match timeout(SWEEP_MAX, removing).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => residue.unknown = Some(error.to_string()),
        Err(_) if is_listed => residue.left.extend(names.iter().map(ToString::to_string)),
        Err(_) => residue.unknown = Some(format!("no answer within {SWEEP_MAX:?}")),
    }
}

/// Removes what is left of each name, of some at once; the names of which something stays.
async fn remove(
    residue: &mut Residue,
    subject: &Subject,
    traces: &Arc<Traces>,
    names: &[LockName],
) -> Result<Vec<LockName>> {
    let (mut names, mut running) = (names.iter().cloned(), JoinSet::new());
    let (mut again, mut failed) = (Vec::new(), None);
    loop {
        while running.len() < SWEEP_AT_ONCE
            && let Some(name) = names.next()
        {
            let (pace, traces) = (subject.pace.clone(), traces.clone());
            running.spawn(async move {
                pace.turn().await;
                (traces.clear(from_ref(&name)).await, name)
            });
        }
        // A task fails only when the runtime ends.
        let Some(Ok((cleared, name))) = running.join_next().await else {
            return failed.map_or(Ok(again), Err);
        };
        let cleared = match cleared {
            Ok(cleared) => cleared,
            // The others are removed all the same.
            Err(error) => {
                failed = failed.or(Some(error));
                continue;
            }
        };
        residue.removed += cleared.removed;
        if cleared.stays > 0 {
            again.push(name);
        }
    }
}
