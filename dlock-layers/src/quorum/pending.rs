//! A request to one node: a task polls it to its end, also if the acquire does not wait for the answer.

use std::{future::Future, sync::Arc, time::Duration};

use dlock_core::{
    Error, Result,
    backend::{AcquireRequest, DistributedLock},
};
use futures_util::FutureExt as _;
use tokio::sync::oneshot::{self, error::TryRecvError};

use super::{late::Late, node::Slot, tally::MemberId};
use crate::{
    panics::panicked,
    part::{Part, ends_by},
    undo::start_undo,
};

/// A node that holds the lock, with the lease in its store: the part.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) slot: Arc<Slot>,
    pub(super) id: MemberId,
    pub(super) part: Arc<Part>,
}

/// The store that panics, in an error.
const STORE: &str = "the store of a node";

/// A request to a node, before its answer is read. A lock that is granted after this is dropped is released.
pub(super) struct Pending {
    pub(super) slot: Arc<Slot>,
    pub(super) id: MemberId,
    request: Arc<AcquireRequest>,
    store: Arc<dyn DistributedLock>,
    /// `None` once it is read, or left to a background release.
    answer: Option<oneshot::Receiver<Result<Arc<Part>>>>,
}

impl Pending {
    /// Sends the request to the node of `slot`. An answer within `timeout` shows that the node is not silent.
    pub(super) fn start(
        slot: Arc<Slot>,
        id: MemberId,
        store: Arc<dyn DistributedLock>,
        request: AcquireRequest,
        timeout: Duration,
    ) -> Self {
        let request = Arc::new(request);
        let (answered, answer) = oneshot::channel();
        let (own, node, called) = (request.clone(), slot.clone(), store.clone());
        tokio::spawn(async move {
            let sent = own.clock().now();
            let result = called.acquire(&own).await;
            let is_in_time = own.clock().now().since(sent) <= timeout;
            if is_in_time && !own.attempt.is_cancelled() && is_answer(&result) {
                node.silence.end();
            }
            let result = result.map(|lease| Arc::new(Part::new(called, own.clone(), lease)));
            if let Err(Ok(part)) = answered.send(result) {
                // Its undo has ended, or never began.
                drop(start_undo(&own, part));
            }
        });
        Self {
            slot,
            id,
            request,
            store,
            answer: Some(answer),
        }
    }

    /// The answer of the node, once. Cancel safe.
    pub(super) async fn answer(&mut self) -> Result<Member> {
        let answer = match &mut self.answer {
            Some(answer) => answer.await.unwrap_or_else(|_| Err(panicked(STORE))),
            None => std::future::pending().await,
        };
        self.answer = None;
        self.member(answer)
    }

    /// The answer, if it comes before `end` does; otherwise the request is given up.
    pub(super) async fn answer_before(
        &mut self,
        end: impl Future<Output = ()>,
    ) -> Option<Result<Member>> {
        tokio::select! {
            biased;
            answer = self.answer() => Some(answer),
            () = end => self.give_up(),
        }
    }

    /// Does not wait any longer; the answer, if it has just come.
    pub(super) fn give_up(&mut self) -> Option<Result<Member>> {
        let mut answer = self.answer.take()?;
        match answer.try_recv() {
            Ok(answer) => Some(self.member(answer)),
            Err(why) => {
                self.request.cancel_nested();
                match why {
                    TryRecvError::Closed => Some(self.member(Err(panicked(STORE)))),
                    TryRecvError::Empty => {
                        self.undo_late(answer);
                        None
                    }
                }
            }
        }
    }

    /// Releases what a request that was given up is granted. A shutdown waits for that, as long as a grant is expected
    /// (K9).
    fn undo_late(&self, answer: oneshot::Receiver<Result<Arc<Part>>>) {
        let until = ends_by(&*self.store, &self.request);
        let request = self.request.clone();
        // It is tried for a whole ttl from the grant on.
        let release = move |answer| {
            if let Ok(part) = answer {
                drop(start_undo(&request, part));
            }
        };
        let late = Late::new(answer, release.clone()).read();
        let released = async move {
            if let Some(answer) = late.await {
                release(answer);
            }
        };
        // Each try goes on with what the one before has begun.
        let released = released.shared();
        let undo = move || released.clone().map(Ok);
        drop(self.request.undo(until, undo));
    }

    fn member(&self, answer: Result<Arc<Part>>) -> Result<Member> {
        let in_context = |error: Error| match self.slot.store() {
            Some(store) => {
                let backend = store.capabilities().backend;
                error.in_context("acquire", backend, Some(&self.request.name))
            }
            None => error,
        };
        Ok(Member {
            slot: self.slot.clone(),
            id: self.id.clone(),
            part: answer.map_err(in_context)?,
        })
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(Ok(member)) = self.give_up() {
            drop(start_undo(&self.request, member.part));
        }
    }
}

/// Whether a result is one of the node. The client of a node that is silent has errors of its own: about a connection
/// that it has given up, at once.
fn is_answer<T>(result: &Result<T>) -> bool {
    result.as_ref().err().is_none_or(Error::is_contended)
}
