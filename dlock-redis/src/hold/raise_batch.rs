//! Raises of the token counter for many locks, in one command.

use std::sync::Arc;

use dlock_core::{Clock, Result, backend::SentAt, toolkit::Batcher};

use crate::{
    acquire::batch::{single, split_on_denied},
    conn::replication::wait_for_replicas,
    scripts::{Call, RaiseCall, RaiseItem},
    topology::router::Router,
};

/// The bound on a batch: the server does nothing else during its command.
const SIZE_MAX: usize = 100;

/// Sends raises.
pub(crate) struct RaiseBatcher {
    router: Arc<Router>,
    batcher: Batcher<RaiseItem, Result<bool>>,
}

impl RaiseBatcher {
    pub(crate) fn new(router: Arc<Router>) -> Self {
        let (to, clock) = (router.clone(), Clock::boottime());
        let batcher = Batcher::eager(SIZE_MAX, move |items: Vec<RaiseItem>| {
            let (router, sent) = (to.clone(), SentAt::now(&clock));
            Box::pin(async move {
                // Boxed: the futures of requests stay small.
                let raised = Box::pin(split_on_denied(&items, |part| raise(&router, part)));
                Ok((sent, raised.await))
            })
        });
        Self { router, batcher }
    }

    /// Raises the counter for one lock; whether its attempt holds it.
    pub(crate) async fn raise(&self, item: RaiseItem) -> Result<bool> {
        // In a Cluster a script has keys of one slot only, so there are no batches.
        if !self.router.is_single() {
            return single(Box::pin(raise(&self.router, &[item])).await?);
        }
        self.batcher.join(item).await?.1
    }
}

async fn raise(router: &Router, items: &[RaiseItem]) -> Result<Vec<Result<bool>>> {
    let key = items.first().map_or("", |item| &item.keys.lock);
    let call = RaiseCall {
        counter: &router.counter_key(key),
        items,
        format: router.options.format,
    };
    let reply = router.send(Call::Raise(call), None).await?;
    let mut raised = call.parse(reply.value.clone())?;
    let is_raised = |raised: &Result<bool>| matches!(raised, Ok(true));
    for (item, _) in items
        .iter()
        .zip(&raised)
        .filter(|(_, raised)| is_raised(raised))
    {
        router.observe_token(item.token);
    }
    if raised.iter().any(is_raised)
        && let Err(error) = wait_for_replicas(&reply, &router.options).await
    {
        for raised in raised.iter_mut().filter(|raised| is_raised(raised)) {
            *raised = Err(error.duplicate());
        }
    }
    Ok(raised)
}
