//! K8 and K4, when a lock is removed, or its session ended, while its client's link is silent or cut.

use std::time::Duration;

use dlock_core::{Guard, Locker};
use dlock_verify::{ensure, support::Outcome};

use crate::{
    case::{Case, CaseContext, Profile, case, grown, loss_error, lost_by},
    target::Link,
};

/// Long enough to remove a lock before it expires.
const TTL: Duration = Duration::from_secs(3);

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_removal_on_a_silent_line, Profile::link_and_backdoor),
        case!(a_removal_while_the_line_is_cut, Profile::link_and_backdoor),
        case!(
            the_end_of_a_session_on_a_silent_line,
            Profile::link_and_sessions
        ),
        case!(
            the_end_of_a_session_while_the_line_is_cut,
            Profile::link_and_sessions
        ),
    ]
}

async fn a_removal_on_a_silent_line(context: &CaseContext) -> Outcome {
    on_a_silent_line(context, Taken::Removed).await
}

async fn the_end_of_a_session_on_a_silent_line(context: &CaseContext) -> Outcome {
    on_a_silent_line(context, Taken::SessionEnded).await
}

async fn a_removal_while_the_line_is_cut(context: &CaseContext) -> Outcome {
    while_the_line_is_cut(context, Taken::Removed).await
}

async fn the_end_of_a_session_while_the_line_is_cut(context: &CaseContext) -> Outcome {
    while_the_line_is_cut(context, Taken::SessionEnded).await
}

/// How the store ends a hold.
#[derive(Clone, Copy)]
enum Taken {
    Removed,
    SessionEnded,
}

/// The client's requests of that time arrive when its guard has ended.
async fn on_a_silent_line(context: &CaseContext, how: Taken) -> Outcome {
    let (name, ttl, link) = (
        context.name("silent")?,
        context.ttl(TTL),
        context.link().await?,
    );
    let locker = context.locker_over_link(&link).await?;
    let guard = locker.acquire(&name).ttl(ttl).await?;
    link.silence();
    // Every confirmed request was sent before.
    let deadline = context.clock.now().after(ttl);
    let successor = take_away(context, how, &guard, ttl).await?;
    lost_by(context, &guard, deadline).await?;
    link.heal();
    stays_lost(context, &link, &locker, guard, successor).await
}

/// The client reconnects before its deadline and renews a lock that is gone.
async fn while_the_line_is_cut(context: &CaseContext, how: Taken) -> Outcome {
    let (name, ttl, link) = (
        context.name("cut")?,
        context.ttl_middle(),
        context.link().await?,
    );
    let locker = context.locker_over_link(&link).await?;
    let guard = locker.acquire(&name).ttl(ttl).await?;
    link.cut();
    let deadline = context.clock.now().after(ttl);
    let successor = take_away(context, how, &guard, ttl).await?;
    link.heal();
    lost_by(context, &guard, deadline).await?;
    stays_lost(context, &link, &locker, guard, successor).await
}

/// Ends the hold of `guard`, and returns the guard of its successor.
async fn take_away(
    context: &CaseContext,
    how: Taken,
    guard: &Guard,
    ttl: Duration,
) -> Outcome<Guard> {
    let (backdoor, address, name) = (context.backdoor()?, &context.address, guard.name());
    match how {
        Taken::Removed => backdoor.remove(address, name).await?,
        Taken::SessionEnded => backdoor.end_session(address, name).await?,
    }
    let acquire = context.locker().await?.acquire(name).wait_forever();
    let successor = context
        .within(context.takeover(ttl), "the next grant", acquire)
        .await??;
    grown(context, guard, &successor)?;
    Ok(successor)
}

/// `guard` is not held again after late requests of its client, and its release spares the successor.
async fn stays_lost(
    context: &CaseContext,
    link: &Link,
    locker: &Locker,
    guard: Guard,
    successor: Guard,
) -> Outcome {
    let acquire = locker.acquire(context.name("healed")?).wait_forever();
    let healed = context.within(
        link.client_timeout(),
        "a lock over the healed line",
        acquire,
    );
    healed.await??.release().await?;
    context
        .soon("what was sent before", link.delivered())
        .await?;
    ensure!(!guard.is_held(), "held again after the loss");
    loss_error("the release of a lost guard", guard.release().await)?;
    let name = successor.name().clone();
    context.expect_spared(successor).await?;
    context.expect_free_soon(&name).await
}
