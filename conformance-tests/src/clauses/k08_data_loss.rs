//! K8 and K5, when the store loses its data while a guard is held. The guard is lost, and tokens go on growing.
//! Exclusion (K1) holds where the backend promises it.

use std::time::Duration;

use dlock_core::{Guard, LockName, Locker};
use dlock_verify::{ensure, support::Outcome};

use crate::case::{Case, CaseContext, Profile, case, grown, lost_by};

/// A store that may have lost locks grants none for this long.
const GUARD_MAX: Duration = Duration::from_secs(30);

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(what_the_store_forgets_is_lost, Profile::loses_data).dedicated(),
        case!(
            the_next_one_waits_until_what_was_forgotten_is_lost,
            Profile::loses_data_safely
        )
        .dedicated(),
    ]
}

/// The holder learns of the loss from the store.
async fn what_the_store_forgets_is_lost(context: &CaseContext) -> Outcome {
    let (holder, next) = (context.locker().await?, context.locker().await?);
    let name = context.name("forgotten")?;
    let guard = granted(context, &holder, &name).await?;
    context.backdoor()?.lose_data(&context.address).await?;
    // Every confirmed request was sent before.
    let deadline = context.clock.now().after(context.ttl_dedicated());
    let granting = granted(context, &next, &name);
    let (lost, successor) = tokio::join!(lost_by(context, &guard, deadline), granting);
    lost?;
    let successor = successor?;
    grown(context, &guard, &successor)?;
    Ok(successor.release().await?)
}

/// The holder cannot learn of the loss if its link can be silent.
async fn the_next_one_waits_until_what_was_forgotten_is_lost(context: &CaseContext) -> Outcome {
    let name = context.name("forgotten")?;
    let link = if context.has_link() {
        Some(context.link().await?)
    } else {
        None
    };
    let holder = match &link {
        Some(link) => context.locker_over_link(link).await?,
        None => context.locker().await?,
    };
    let guard = granted(context, &holder, &name).await?;
    if let Some(link) = &link {
        link.silence();
    }
    context.backdoor()?.lose_data(&context.address).await?;
    let successor = granted(context, &context.locker().await?, &name).await?;
    ensure!(!guard.is_held(), "held beside the next one");
    grown(context, &guard, &successor)?;
    Ok(successor.release().await?)
}

async fn granted(context: &CaseContext, locker: &Locker, name: &LockName) -> Outcome<Guard> {
    let acquire = locker.acquire(name).wait_forever();
    Ok(context.within(GUARD_MAX, "a grant", acquire).await??)
}
