//! Removes what a verification has left, by the names of its locks.

use dlock::{LockName, Result};
use dlock_raw::residue::Residue as Traces;
use dlock_verify::verdict::Residue;
use tokio::time::{sleep, timeout};

use super::{
    bounds::{SWEEP_AGAIN, SWEEP_MAX},
    target::Subject,
};

/// Removes all that is left of the locks, and counts it.
///
/// # Cancel safety
///
/// Locks that are not removed yet expire.
pub(crate) async fn run(residue: &mut Residue, subject: &Subject) {
    let (mut names, mut is_listed) = (subject.used.all(), false);
    let removing = async {
        let traces = Traces::open(&subject.config).await?;
        // The session of a worker that was killed may keep its row or file for a moment.
        loop {
            names = remove(residue, subject, &traces, &names).await?;
            is_listed = true;
            if names.is_empty() {
                traces.close().await;
                return Ok::<_, dlock::Error>(());
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

/// Removes what is left of each name; the names of which something stays.
async fn remove(
    residue: &mut Residue,
    subject: &Subject,
    traces: &Traces,
    names: &[LockName],
) -> Result<Vec<LockName>> {
    let mut again = Vec::new();
    for name in names {
        subject.pace.turn().await;
        let one = std::slice::from_ref(name);
        let found = traces.list(one).await?.len();
        if found == 0 {
            continue;
        }
        let removed = traces.remove(one).await?.len();
        residue.removed += removed as u64;
        if removed < found {
            again.push(name.clone());
        }
    }
    Ok(again)
}
