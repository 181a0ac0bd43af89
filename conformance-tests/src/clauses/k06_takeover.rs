//! K6, when a holder dies: its lock is granted within what is left of the ttl and `takeover_max`.

use dlock_core::{Expiry, Mode};
use dlock_verify::support::Outcome;

use crate::{
    case::{Case, CaseContext, ClientGroup, Profile, UnguardedLease, case},
    worker::Task,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(
            a_lock_that_is_not_renewed_is_granted_in_time,
            Profile::expires
        ),
        case!(
            the_lock_of_a_killed_process_is_granted_in_time,
            Profile::processes
        ),
        case!(a_killed_waiter_blocks_no_other, Profile::processes),
    ]
}

async fn a_lock_that_is_not_renewed_is_granted_in_time(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("forgotten")?, context.ttl_short());
    let forgotten = UnguardedLease::take(context, &name, ttl).await?;
    context
        .take(&name, context.takeover(ttl))
        .await?
        .release()
        .await?;
    drop(forgotten);
    Ok(())
}

async fn the_lock_of_a_killed_process_is_granted_in_time(context: &CaseContext) -> Outcome {
    let (group, name) = (ClientGroup::new(context), context.name("killed")?);
    // A hold of a process ends with it; any other hold expires after its ttl.
    let process = context.capabilities.expiry == Expiry::Process;
    let (ttl, left) = if process {
        (context.ttl_long(), std::time::Duration::ZERO)
    } else {
        (context.ttl_short(), context.ttl_short())
    };
    let holder = group.worker(Task::Hold {
        name: name.as_str().to_owned(),
        ttl,
    })?;
    context
        .soon("the holder's grant", holder.granted(1))
        .await?;
    context.expect_taken(&name).await?;
    let (recorder, acquire) = (
        group.recorder(),
        context.locker().await?.acquire(&name).wait_forever(),
    );
    let waiting = recorder.acquire(&name, Mode::Exclusive, acquire);
    let waiting = context.within(context.takeover(left), "the waiter's grant", waiting);
    let (guard, killed) = tokio::join!(waiting, holder.kill());
    killed?;
    guard??.release().await?;
    group.check()
}

async fn a_killed_waiter_blocks_no_other(context: &CaseContext) -> Outcome {
    let (group, name, ttl) = (
        ClientGroup::new(context),
        context.name("waiter")?,
        context.ttl_short(),
    );
    let guard = context.locker().await?.acquire(&name).await?;
    let waiter = group.worker(Task::Hold {
        name: name.as_str().to_owned(),
        ttl,
    })?;
    let started = group
        .history
        .until(1, |event| event.client == waiter.client());
    context.soon("the waiter's start", started).await?;
    waiter.kill().await?;
    guard.release().await?;
    context
        .take(&name, context.takeover(ttl))
        .await?
        .release()
        .await?;
    Ok(())
}
