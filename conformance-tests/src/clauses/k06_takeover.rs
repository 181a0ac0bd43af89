//! K6, when a holder dies: its lock is granted within what is left of the ttl and `takeover_max`.

use std::time::Duration;

use dlock_core::{Expiry, Mode};
use dlock_verify::{ensure, support::Outcome};

use crate::{
    case::{Case, CaseContext, ClientGroup, Profile, UnguardedLease, case, lost_by},
    worker::Task,
};

/// A ttl that every backend allows (K11), and that is shorter than a session or a lease of some stores.
const TWO_SECONDS: Duration = Duration::from_secs(2);

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(
            a_lock_of_two_seconds_is_lost_and_free_in_time,
            Profile::frees_lost
        ),
        case!(
            a_lock_that_is_not_renewed_is_granted_in_time,
            Profile::frees_expired
        ),
        case!(
            the_lock_of_a_killed_process_is_granted_in_time,
            Profile::processes
        ),
        case!(a_killed_waiter_blocks_no_other, Profile::processes),
    ]
}

async fn a_lock_of_two_seconds_is_lost_and_free_in_time(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("two-seconds")?, TWO_SECONDS);
    let locker = context.locker().await?;
    let observer = context.observer().await?;
    let guard = locker.acquire(&name).ttl(ttl).no_renewal().await?;
    let latest = context.clock.now().after(ttl);
    let taken = observer.try_acquire(&name).await?.is_none();
    // A machine that is slow may take the whole ttl.
    ensure!(
        taken || !guard.is_held(),
        "{name:?} is free, but a guard holds it"
    );
    if context.capabilities.expiry == Expiry::Process {
        guard.release().await?;
        return context.expect_free(&name).await;
    }
    lost_by(context, &guard, latest).await?;
    context.expect_free_soon(&name).await?;
    // A holder that died: the store frees the lock by itself.
    let forgotten = UnguardedLease::take(context, &name, ttl).await?;
    context
        .take(&name, context.takeover(ttl))
        .await?
        .release()
        .await?;
    drop(forgotten);
    Ok(())
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
        (context.ttl_long(), Duration::ZERO)
    } else {
        (context.ttl_short(), context.ttl_short())
    };
    let holder = group.worker(Task::Hold {
        name: name.as_str().to_owned(),
        ttl,
    })?;
    context
        .soon("the holder's grant", holder.granted(1))
        .await??;
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
