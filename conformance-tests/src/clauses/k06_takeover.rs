//! K6, when a holder dies: its lock is granted within what is left of the ttl and `takeover_max`.

use dlock_verify::support::Outcome;

use crate::{
    case::{Case, Crew, Loose, Profile, Rig, case},
    worker::Task,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(
            a_lock_that_nobody_renews_is_granted_in_time,
            Profile::expires
        ),
        case!(
            the_lock_of_a_killed_process_is_granted_in_time,
            Profile::processes
        ),
        case!(a_killed_waiter_blocks_nobody, Profile::processes),
    ]
}

async fn a_lock_that_nobody_renews_is_granted_in_time(rig: &Rig) -> Outcome {
    let (name, ttl) = (rig.name("forgotten")?, rig.ttl_short());
    let forgotten = Loose::take(rig, &name, ttl).await?;
    rig.take(&name, rig.takeover(ttl)).await?.release().await?;
    drop(forgotten);
    Ok(())
}

async fn the_lock_of_a_killed_process_is_granted_in_time(rig: &Rig) -> Outcome {
    let (crew, name) = (Crew::new(rig), rig.name("killed")?);
    // A process has no lease to wait for; anything else ends by its ttl.
    let process = rig.capabilities.expiry == dlock_core::Expiry::Process;
    let (ttl, left) = if process {
        (rig.ttl_long(), std::time::Duration::ZERO)
    } else {
        (rig.ttl_short(), rig.ttl_short())
    };
    let holder = crew.worker(Task::Hold {
        name: name.as_str().to_owned(),
        ttl,
    })?;
    rig.soon("the holder's grant", holder.granted(1)).await?;
    rig.expect_taken(&name).await?;
    let (recorder, acquire) = (
        crew.recorder(),
        rig.locker().await?.acquire(&name).wait_forever(),
    );
    let waiting = recorder.acquire(&name, false, acquire);
    let waiting = rig.within(rig.takeover(left), "the waiter's grant", waiting);
    let (guard, killed) = tokio::join!(waiting, holder.kill());
    killed?;
    guard??.release().await?;
    crew.check()
}

async fn a_killed_waiter_blocks_nobody(rig: &Rig) -> Outcome {
    let (crew, name, ttl) = (Crew::new(rig), rig.name("waiter")?, rig.ttl_short());
    let guard = rig.locker().await?.acquire(&name).await?;
    let waiter = crew.worker(Task::Hold {
        name: name.as_str().to_owned(),
        ttl,
    })?;
    let asked = crew
        .history
        .until(1, |event| event.client == waiter.client());
    rig.soon("the waiter's start", asked).await?;
    waiter.kill().await?;
    guard.release().await?;
    rig.take(&name, rig.takeover(ttl)).await?.release().await?;
    Ok(())
}
