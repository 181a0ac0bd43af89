//! Acquiring a lock: one try, or a wait.

pub(crate) mod after_release;
mod attempt;
pub(crate) mod batch;
mod undo;
mod wait;

use std::sync::Arc;

use dlock_core::{
    Result,
    backend::{AcquireRequest, Lease, Wait},
};

use crate::{
    acquire::{
        after_release::AfterRelease,
        attempt::{try_once, try_until_answered},
        batch::CommandBatcher,
        wait::Waiting,
    },
    keys::Keys,
    longest_ttl::LongestTtl,
    pubsub::Subscriptions,
    scripts::Waits,
};

/// The parts of the backend that an acquire uses.
#[derive(Clone, Copy)]
pub(crate) struct Acquirer<'a> {
    pub(crate) batcher: &'a Arc<CommandBatcher>,
    pub(crate) subscriptions: &'a Subscriptions,
    pub(crate) longest_ttl: &'a LongestTtl,
    pub(crate) after_release: &'a AfterRelease,
}

impl Acquirer<'_> {
    /// Acquires the lock. A free one costs one request; an acquire that may wait then waits for a release.
    pub(crate) async fn acquire(self, request: &AcquireRequest, keys: &Arc<Keys>) -> Result<Lease> {
        self.longest_ttl.observe(request.ttl);
        let first = match request.wait {
            Wait::Never => return self.acquire_now(request, keys).await,
            Wait::UntilCancelled if self.after_release.take(keys) => None,
            Wait::UntilCancelled => {
                Some(try_once(self.batcher, request, keys, Waits::IfTaken).await)
            }
        };
        if let Some(Ok(Ok(lease))) = first {
            return Ok(lease);
        }
        let waiting = Waiting {
            batcher: self.batcher,
            subscriptions: self.subscriptions,
            longest_ttl: self.longest_ttl,
            request,
            keys,
        };
        // Boxed, as most locks are free: the future stays small.
        Box::pin(waiting.wait(first)).await
    }

    async fn acquire_now(self, request: &AcquireRequest, keys: &Arc<Keys>) -> Result<Lease> {
        match try_until_answered(self.batcher, request, keys).await? {
            Ok(lease) => Ok(lease),
            Err(contended) => {
                self.longest_ttl.report_contended(request, contended);
                Err(request.attempt.contended_error())
            }
        }
    }
}
