//! K2: a deadline counts from a clock that was read before the request was sent.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    BootInstant, Clock, Guard, Mode, Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed},
    toolkit::Lock,
};
use dlock_verify::{ensure, support::Outcome};

use crate::case::{Case, CaseContext, ClientGroup, Profile, case, interpose::Interpose};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_slow_reply_does_not_extend_a_grant),
        case!(a_slow_reply_does_not_extend_a_renewal, Profile::expires),
        case!(a_slow_network_does_not_extend_a_deadline, Profile::link),
        case!(a_reply_after_the_deadline_is_no_grant),
        case!(a_margin_of_the_ttl_is_given_up),
        case!(a_hold_that_is_not_renewed_ends_before_the_next_begins),
    ]
}

/// A client's time-outs are this many delays of its link: two replies in turn are still in time.
const DELAYS: u32 = 16;

/// How often the deadlines over a slow network are checked.
const ROUNDS: u32 = 4;

/// Delays replies: the store has executed the request, the client does not have the reply yet.
struct LateReplies {
    by: Duration,
    /// The time of the store's last answer.
    answered: Lock<BootInstant>,
}

impl LateReplies {
    fn new(by: Duration) -> Arc<Self> {
        Arc::new(Self {
            by,
            answered: Lock::new(BootInstant::FOREVER),
        })
    }

    async fn dawdle(&self) {
        let now = Clock::boottime().now();
        *self.answered.lock() = now;
        tokio::time::sleep(self.by).await;
    }

    /// Fails if `guard` is held for longer than `ttl` proves after the store's reply.
    fn check(&self, context: &CaseContext, guard: &Guard, ttl: Duration) -> Outcome {
        ends_in_time(context, guard, *self.answered.lock(), ttl)
    }
}

/// Fails if `guard` is held for longer than 99 % of `ttl` after `sent`.
///
/// The hundredth is the margin for clocks of different rates.
fn ends_in_time(context: &CaseContext, guard: &Guard, sent: BootInstant, ttl: Duration) -> Outcome {
    let latest = sent.after(ttl - ttl / 100);
    let deadline = context.deadline_at_least(guard);
    let late = deadline.since(latest);
    ensure!(
        deadline <= latest,
        "the deadline is {late:?} later than a request sent in time proves"
    );
    Ok(())
}

#[async_trait]
impl Interpose for LateReplies {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        let lease = inner.acquire(request).await?;
        self.dawdle().await;
        Ok(lease)
    }

    async fn renew(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<Renewed> {
        let renewed = inner.renew(lease).await?;
        self.dawdle().await;
        Ok(renewed)
    }
}

async fn a_slow_reply_does_not_extend_a_grant(context: &CaseContext) -> Outcome {
    let ttl = context.ttl_middle();
    let late = LateReplies::new(ttl / 8);
    let guard = context
        .locker_over(&late)
        .await?
        .acquire(&context.name("late")?)
        .ttl(ttl)
        .no_renewal()
        .await?;
    late.check(context, &guard, ttl)?;
    Ok(guard.release().await?)
}

async fn a_slow_reply_does_not_extend_a_renewal(context: &CaseContext) -> Outcome {
    let ttl = context.ttl_middle();
    let late = LateReplies::new(ttl / 16);
    let guard = context
        .locker_over(&late)
        .await?
        .acquire(&context.name("late")?)
        .ttl(ttl)
        .no_renewal()
        .await?;
    guard.renew().await?;
    late.check(context, &guard, ttl)?;
    Ok(guard.release().await?)
}

/// Each reply takes `delay` on its way, so a request was sent that long before its end at the latest.
async fn a_slow_network_does_not_extend_a_deadline(context: &CaseContext) -> Outcome {
    let (ttl, link) = (context.ttl_middle(), context.link().await?);
    let delay = link.client_timeout() / DELAYS;
    let locker = context.locker_over_link(&link).await?;
    // Its connections are open, and a renewal needs no more requests than later ones.
    let first = locker.acquire(context.name("first")?).await?;
    first.renew().await?;
    link.delay_replies(delay);
    // A busy machine may hide a late deadline, as the client has the reply before the time is read here.
    for round in 0..ROUNDS {
        let name = context.name(&format!("delayed-{round}"))?;
        let guard = locker.acquire(&name).ttl(ttl).no_renewal().await?;
        ends_in_time(context, &guard, context.clock.now(), ttl - delay)?;
        guard.renew().await?;
        ends_in_time(context, &guard, context.clock.now(), ttl - delay)?;
        guard.release().await?;
    }
    link.heal();
    Ok(first.release().await?)
}

async fn a_reply_after_the_deadline_is_no_grant(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("late")?, context.ttl_short());
    let late = LateReplies::new(ttl);
    let locker = context.locker_over(&late).await?;
    let granted = locker.acquire(&name).ttl(ttl).no_renewal().await;
    ensure!(
        granted.is_err(),
        "a grant although the lease had ended: {granted:?}"
    );
    context.expect_free_soon(&name).await
}

async fn a_margin_of_the_ttl_is_given_up(context: &CaseContext) -> Outcome {
    let (locker, ttl) = (context.locker().await?, context.ttl_middle());
    let (name, before) = (context.name("margin")?, context.clock.now());
    let guard = locker.acquire(&name).ttl(ttl).no_renewal().await?;
    let (remaining, most) = (
        guard.remaining(),
        ttl - ttl / 100 - Duration::from_millis(2),
    );
    ensure!(
        remaining <= most,
        "{remaining:?} of {ttl:?} remain, {most:?} at most may"
    );
    // From before the request: a machine or a server that is slow takes nothing away from it.
    let least = before.after(context.granted_at_least(ttl));
    let lacks = least.since(context.deadline_at_most(&guard));
    ensure!(
        lacks == Duration::ZERO,
        "a grant of {ttl:?} is {lacks:?} too short"
    );
    Ok(guard.release().await?)
}

async fn a_hold_that_is_not_renewed_ends_before_the_next_begins(context: &CaseContext) -> Outcome {
    let (group, name, ttl) = (
        ClientGroup::new(context),
        context.name("ends")?,
        context.ttl_short(),
    );
    let [holder, waiter] = [context.locker().await?, context.locker().await?];
    let acquire = holder.acquire(&name).ttl(ttl).no_renewal();
    let first = group
        .recorder()
        .acquire(&name, Mode::Exclusive, acquire)
        .await?;
    let wait = context.takeover(ttl) + context.tolerance();
    let second = group
        .recorder()
        .acquire(&name, Mode::Exclusive, waiter.acquire(&name).wait(wait))
        .await?;
    ensure!(
        !first.guard().is_held(),
        "the first guard is held beside the second"
    );
    first.lost();
    second.release().await?;
    group.check()
}
