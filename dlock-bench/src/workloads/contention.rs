//! Several processes that all want one lock all the time.

use std::time::Duration;

use dlock_core::{Clock, Result};

use crate::{
    data::Contention,
    store::Store,
    worker::{Reply, Request, Worker, unexpected},
};

/// How many processes there are.
const PROCESSES: usize = 8;

/// How long before the begin all of them have the request.
const AHEAD: Duration = Duration::from_millis(200);

/// Measures it for `run_for`.
///
/// # Errors
///
/// The errors of the store, or of a worker.
///
/// # Cancel safety
///
/// Dropping the future ends the workers.
pub(crate) async fn contention(store: &Store, run_for: Duration) -> Result<Contention> {
    let mut workers = Vec::new();
    for _ in 0..PROCESSES {
        workers.push(Worker::start(&store.worker, &[]).await?);
    }
    let begin = Clock::boottime().now().after(AHEAD);
    let request = Request::Contend {
        name: store.names.make("contention"),
        begin_ns: begin.as_nanos(),
        end_ns: begin.after(run_for).as_nanos(),
    };
    let calls = workers.into_iter().map(|mut worker| {
        let request = request.clone();
        async move {
            let reply = worker.call(&request, AHEAD + run_for).await;
            worker.end().await;
            reply
        }
    });
    let mut running: tokio::task::JoinSet<_> = calls.collect();
    let (mut grants, mut longest_wait_ns) = (Vec::new(), 0);
    while let Some(reply) = running.join_next().await {
        match reply.map_err(crate::tasks::defect)?? {
            Reply::Contended {
                grants: its,
                longest_wait_ns: longest,
            } => {
                grants.push(its);
                longest_wait_ns = longest_wait_ns.max(longest);
            }
            other => return Err(unexpected(&other)),
        }
    }
    grants.sort_unstable_by(|one, other| other.cmp(one));
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let all = grants.iter().sum::<u64>() as f64;
    Ok(Contention {
        took_ms: u64::try_from(run_for.as_millis()).unwrap_or(u64::MAX),
        jain: jain(&grants),
        grants,
        longest_wait_ns,
        per_second: all / run_for.as_secs_f64(),
    })
}

/// Jain's index of fairness (Jain, Chiu, Hawe 1984): 1 if all shares are equal, 1/n if one has all.
#[must_use]
pub fn jain(shares: &[u64]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]
    let shares: Vec<f64> = shares.iter().map(|&share| share as f64).collect();
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    #[expect(clippy::cast_precision_loss, reason = "a few processes")]
    let count = shares.len() as f64;
    if squares == 0.0 {
        return 1.0;
    }
    sum * sum / (count * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_of_known_shares() {
        let near = |shares: &[u64], expected: f64| {
            assert!((jain(shares) - expected).abs() < 1e-9, "{shares:?}");
        };
        near(&[5, 5, 5, 5], 1.0);
        near(&[8, 0, 0, 0], 0.25);
        near(&[2, 1], 0.9);
        near(&[0, 0], 1.0);
    }
}
