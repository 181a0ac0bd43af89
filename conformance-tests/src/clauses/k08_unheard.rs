//! K8 and K4, when the client does not hear: its lock is removed, or its session ended, while its line
//! is silent or cut.

use std::time::Duration;

use dlock_core::{ErrorKind, Guard, Locker};
use dlock_verify::{ensure, support::Outcome};

use crate::{
    case::{Case, Profile, Rig, case, grown, lost_by},
    target::Line,
};

/// Long enough for a lock to be taken away before it ends by itself.
const TTL: Duration = Duration::from_secs(3);

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_removal_on_a_silent_line, Profile::line_and_backdoor),
        case!(a_removal_while_the_line_is_cut, Profile::line_and_backdoor),
        case!(
            the_end_of_a_session_on_a_silent_line,
            Profile::line_and_sessions
        ),
        case!(
            the_end_of_a_session_while_the_line_is_cut,
            Profile::line_and_sessions
        ),
    ]
}

async fn a_removal_on_a_silent_line(rig: &Rig) -> Outcome {
    on_a_silent_line(rig, Taken::Removed).await
}

async fn the_end_of_a_session_on_a_silent_line(rig: &Rig) -> Outcome {
    on_a_silent_line(rig, Taken::SessionEnded).await
}

async fn a_removal_while_the_line_is_cut(rig: &Rig) -> Outcome {
    while_the_line_is_cut(rig, Taken::Removed).await
}

async fn the_end_of_a_session_while_the_line_is_cut(rig: &Rig) -> Outcome {
    while_the_line_is_cut(rig, Taken::SessionEnded).await
}

/// How a lock is taken away.
#[derive(Clone, Copy)]
enum Taken {
    Removed,
    SessionEnded,
}

/// What the client asked meanwhile arrives when its guard has ended.
async fn on_a_silent_line(rig: &Rig, how: Taken) -> Outcome {
    let (name, ttl, line) = (rig.name("silent")?, rig.ttl(TTL), rig.line().await?);
    let locker = rig.locker_over_line(&line).await?;
    let guard = locker.acquire(&name).ttl(ttl).await?;
    line.silence();
    // Whatever was confirmed was asked for before.
    let deadline = rig.clock.now().after(ttl);
    let successor = take_away(rig, how, &guard, ttl).await?;
    lost_by(rig, &guard, deadline).await?;
    line.heal();
    stays_lost(rig, &line, &locker, guard, successor).await
}

/// The client is back before its deadline, and asks for what is gone.
async fn while_the_line_is_cut(rig: &Rig, how: Taken) -> Outcome {
    let (name, ttl, line) = (rig.name("cut")?, rig.ttl_middle(), rig.line().await?);
    let locker = rig.locker_over_line(&line).await?;
    let guard = locker.acquire(&name).ttl(ttl).await?;
    line.cut();
    let deadline = rig.clock.now().after(ttl);
    let successor = take_away(rig, how, &guard, ttl).await?;
    line.heal();
    lost_by(rig, &guard, deadline).await?;
    stays_lost(rig, &line, &locker, guard, successor).await
}

/// Takes the lock away from `guard`; the guard of the next one.
async fn take_away(rig: &Rig, how: Taken, guard: &Guard, ttl: Duration) -> Outcome<Guard> {
    let (backdoor, address, name) = (rig.backdoor()?, &rig.address, guard.name());
    match how {
        Taken::Removed => backdoor.remove(address, name).await?,
        Taken::SessionEnded => backdoor.end_session(address, name).await?,
    }
    let acquire = rig.locker().await?.acquire(name).wait_forever();
    let successor = rig
        .within(rig.takeover(ttl), "the next grant", acquire)
        .await??;
    grown(rig, guard, &successor)?;
    Ok(successor)
}

/// Whatever the client has asked meanwhile, `guard` is not held again, and its release spares the next one.
async fn stays_lost(
    rig: &Rig,
    line: &Line,
    locker: &Locker,
    guard: Guard,
    successor: Guard,
) -> Outcome {
    let acquire = locker.acquire(rig.name("healed")?).wait_forever();
    let healed = rig.within(line.patience(), "a lock over the healed line", acquire);
    healed.await??.release().await?;
    rig.soon("what was sent before", line.delivered()).await?;
    ensure!(!guard.is_held(), "held again after the loss");
    let error = guard.release().await.err();
    let error = error.ok_or("the release of a lost guard is a success")?;
    ensure!(
        error.kind() == ErrorKind::Lost,
        "the release of a lost guard says: {error}"
    );
    let name = successor.name().clone();
    rig.expect_taken(&name).await?;
    successor.renew().await?;
    successor.release().await?;
    rig.expect_free_soon(&name).await
}
