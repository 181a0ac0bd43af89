//! The results of requests that were sent to all nodes at once.

use std::{pin::Pin, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Sleep, sleep},
};

/// Gives each result to `take`. When that says that they are enough, the other requests have `grace`. If it says so
/// again without a result then, they are dropped. A request that panicked has no result.
pub(super) async fn gather<T: 'static>(
    mut requests: JoinSet<T>,
    grace: Duration,
    mut take: impl FnMut(Option<T>) -> bool,
) {
    let mut end: Option<Pin<Box<Sleep>>> = None;
    loop {
        let next = match &mut end {
            None => requests.join_next().await,
            Some(grace_end) => tokio::select! {
                biased;
                next = requests.join_next() => next,
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
            Some(Ok(result)) => {
                if take(Some(result)) && end.is_none() {
                    end = Some(Box::pin(sleep(grace)));
                }
            }
            Some(Err(error)) => tracing::debug!(%error, "a request to a node has no result"),
        }
    }
}
