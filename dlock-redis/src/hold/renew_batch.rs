//! Renewals that are due together, in one command.

use std::{sync::Arc, time::Duration};

use dlock_core::{Clock, Result, backend::SentAt, toolkit::Batcher};

use crate::{
    acquire::batch::{single, split_on_denied},
    conn::{replication::wait_for_replicas, request::HEDGE_AFTER_MAX},
    scripts::{Call, RenewCall, RenewItem, RenewOutcome},
    topology::router::Router,
};

/// The bound on a batch: the server does nothing else during its command.
const SIZE_MAX: usize = 500;

/// A renewal is hedged after this part of its ttl: it is due when at least two thirds are left, so there is time for
/// both requests.
const HEDGE_PART: u32 = 8;

/// No renewal is hedged sooner: a short ttl on a slow network would cost a connection for each renewal.
const HEDGE_AFTER_MIN: Duration = Duration::from_millis(100);

/// Sends renewals.
pub(crate) struct RenewBatcher {
    router: Arc<Router>,
    clock: Clock,
    batcher: Batcher<RenewItem, Result<RenewOutcome>>,
}

impl RenewBatcher {
    pub(crate) fn new(router: Arc<Router>) -> Self {
        let clock = Clock::boottime();
        let (to, sent_by) = (router.clone(), clock.clone());
        let batcher = Batcher::windowed(SIZE_MAX, move |items: Vec<RenewItem>| {
            let (router, clock) = (to.clone(), sent_by.clone());
            Box::pin(async move {
                let sent = SentAt::now(&clock);
                let outcomes = split_on_denied(&items, |part| renew(&router, part)).await;
                Ok((sent, outcomes))
            })
        });
        Self {
            router,
            clock,
            batcher,
        }
    }

    /// Renews one lock: when the command was sent, and its outcome.
    pub(crate) async fn renew(&self, item: RenewItem) -> Result<(SentAt, RenewOutcome)> {
        // In a Cluster a script has keys of one slot only, so there are no batches.
        if !self.router.is_single() {
            let sent = SentAt::now(&self.clock);
            // Boxed: the futures of renewals stay small.
            let outcome = single(Box::pin(renew(&self.router, &[item])).await?)?;
            return Ok((sent, outcome));
        }
        let (sent, outcome) = self.batcher.join(item).await?;
        Ok((sent, outcome?))
    }
}

async fn renew(router: &Router, items: &[RenewItem]) -> Result<Vec<Result<RenewOutcome>>> {
    let call = RenewCall {
        items,
        format: router.options.format,
    };
    let hedge_after = Some(hedge_after(items));
    let reply = router.send(Call::Renew(call), hedge_after).await?;
    let mut outcomes = call.parse(reply.value.clone())?;
    let is_held = |outcome: &Result<RenewOutcome>| matches!(outcome, Ok(RenewOutcome::Held));
    // A renewal that a failover would forget does not count.
    if outcomes.iter().any(is_held)
        && let Err(error) = wait_for_replicas(&reply, &router.options).await
    {
        for outcome in outcomes.iter_mut().filter(|outcome| is_held(outcome)) {
            *outcome = Err(error.duplicate());
        }
    }
    Ok(outcomes)
}

/// The time after which renewals are sent on a second connection, too, for any `timeout` that the user has set.
fn hedge_after(items: &[RenewItem]) -> Duration {
    let ttl = items.iter().map(|item| item.ttl).min();
    let part = ttl.unwrap_or_default() / HEDGE_PART;
    part.clamp(HEDGE_AFTER_MIN, HEDGE_AFTER_MAX)
}
