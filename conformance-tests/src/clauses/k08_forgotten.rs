//! K8 and K5, when the store forgets while a guard is held: the holder is told, and tokens go on
//! growing; exclusion (K1) where the backend promises it.

use std::time::Duration;

use dlock_core::{Guard, LockName, Locker};
use dlock_verify::{ensure, support::Outcome};

use crate::case::{Case, Profile, Rig, case, grown, lost_by};

/// A store that may have forgotten locks grants none for a while, as when it is new.
const GUARD_MAX: Duration = Duration::from_secs(30);

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(what_the_store_forgets_is_lost, Profile::forgets).alone(),
        case!(
            the_next_one_waits_until_what_was_forgotten_is_lost,
            Profile::forgets_safely
        )
        .alone(),
    ]
}

/// The holder is told by the store.
async fn what_the_store_forgets_is_lost(rig: &Rig) -> Outcome {
    let (holder, next) = (rig.locker().await?, rig.locker().await?);
    let name = rig.name("forgotten")?;
    let guard = granted(rig, &holder, &name).await?;
    rig.backdoor()?.forget(&rig.address).await?;
    // Whatever was confirmed was asked for before.
    let deadline = rig.clock.now().after(rig.ttl_alone());
    let granting = granted(rig, &next, &name);
    let (told, successor) = tokio::join!(lost_by(rig, &guard, deadline), granting);
    told?;
    let successor = successor?;
    grown(rig, &guard, &successor)?;
    Ok(successor.release().await?)
}

/// The holder is not told, if its line can be silent.
async fn the_next_one_waits_until_what_was_forgotten_is_lost(rig: &Rig) -> Outcome {
    let name = rig.name("forgotten")?;
    let line = if rig.has_line() {
        Some(rig.line().await?)
    } else {
        None
    };
    let holder = match &line {
        Some(line) => rig.locker_over_line(line).await?,
        None => rig.locker().await?,
    };
    let guard = granted(rig, &holder, &name).await?;
    if let Some(line) = &line {
        line.silence();
    }
    rig.backdoor()?.forget(&rig.address).await?;
    let successor = granted(rig, &rig.locker().await?, &name).await?;
    ensure!(!guard.is_held(), "held beside the next one");
    grown(rig, &guard, &successor)?;
    Ok(successor.release().await?)
}

async fn granted(rig: &Rig, locker: &Locker, name: &LockName) -> Outcome<Guard> {
    let acquire = locker.acquire(name).wait_forever();
    Ok(rig.within(GUARD_MAX, "a grant", acquire).await??)
}
