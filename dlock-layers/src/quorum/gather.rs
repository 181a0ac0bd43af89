//! The results of requests that were sent to all nodes at once.

use std::{future::Future, pin::Pin, time::Duration};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::time::{Sleep, sleep};

use crate::panics::unless_panics;

/// Gives each result to `take`. When that says that they are enough, the other requests have `grace`. If it says so
/// again without a result then, they are dropped. A request that panicked has no result.
///
/// The caller's task polls them all: a task for each of them costs processor time.
pub(super) async fn gather<R: Future>(
    requests: impl IntoIterator<Item = R>,
    grace: Duration,
    mut take: impl FnMut(Option<R::Output>) -> bool,
) {
    let mut requests: FuturesUnordered<_> = requests.into_iter().map(unless_panics).collect();
    let mut end: Option<Pin<Box<Sleep>>> = None;
    loop {
        let next = match &mut end {
            None => requests.next().await,
            Some(grace_end) => tokio::select! {
                biased;
                next = requests.next() => next,
                () = grace_end => {
                    if take(None) {
                        return;
                    }
                    end = None;
                    continue;
                }
            },
        };
        match next {
            None => return,
            Some(None) => {}
            Some(result) => {
                if take(result) && end.is_none() {
                    end = Some(Box::pin(sleep(grace)));
                }
            }
        }
    }
}
