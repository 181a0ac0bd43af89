//! Places that many tasks make and give up, in few requests.
//!
//! Each change of the store is a round of the cluster and a write to disk, whatever is in it. One that
//! comes alone leaves at once; those who come while it is on its way leave together, as one
//! transaction: each place is made by a transaction in it, with comparisons of its own. (A server that
//! is full does not look into those, and may grant them.)

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use dlock_core::{
    Effect, Result,
    toolkit::{BatchReply, Batcher},
};
use etcd_client::{Client, Txn, TxnOp, TxnOpResponse, TxnResponse};
use tokio::task::JoinSet;

use crate::{conn::members::Session, errors, ranges::revision};

/// At most so many in one transaction: servers take 128 unless told otherwise.
const SIZE_MAX: usize = 100;

/// The requests of one backend.
pub(crate) struct Trips(Batcher<Ask, Reply>);

pub(crate) enum Ask {
    /// Make a place, in this queue.
    Make { queue: String, txn: Txn },
    /// Delete this key, which nobody makes meanwhile.
    Delete(String),
}

/// What a transaction about a place has found.
pub(crate) struct Found {
    /// The store's revision after it, in which what it made was made.
    pub(crate) revision: i64,
    /// Whether its comparisons held.
    pub(crate) succeeded: bool,
    pub(crate) ops: Vec<TxnOpResponse>,
}

/// The answer to one of several.
struct Reply {
    /// As [`Trips::join`] has it.
    found: Result<Option<Found>>,
    /// Whether a try of it may still be on its way.
    doubtful: bool,
}

impl Trips {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        Self(Batcher::eager(SIZE_MAX, move |asks| {
            let session = session.clone();
            Box::pin(async move { travel(&session, asks).await })
        }))
    }

    /// Asks for it, together with others; `None` if the lease is gone, and for a deletion. `doubtful` is
    /// set when the store may have done it, or will, without our hearing so.
    pub(crate) async fn join(&self, ask: Ask, doubtful: &AtomicBool) -> Result<Option<Found>> {
        let reply = match self.0.join(ask).await {
            Ok((_, reply)) => reply,
            Err(error) => Reply {
                doubtful: error.effect() == Effect::Unknown,
                found: Err(error),
            },
        };
        if reply.doubtful {
            doubtful.store(true, Ordering::Release);
        }
        reply.found
    }
}

async fn travel(session: &Arc<Session>, asks: Vec<Ask>) -> BatchReply<Reply> {
    let sent = session.start();
    let doubtful = AtomicBool::new(false);
    if let [ask] = &*asks {
        let found = alone(session, ask, &doubtful).await;
        let doubtful = doubtful.into_inner();
        return Ok((sent, vec![Reply { found, doubtful }]));
    }
    let found = match are_apart(&asks) {
        true => together(session, &asks, &doubtful).await?,
        false => None,
    };
    let doubtful = doubtful.into_inner();
    let replies = match found {
        Some(found) => found
            .into_iter()
            .map(|found| Reply {
                found: Ok(Some(found)),
                doubtful,
            })
            .collect(),
        None => each(session, asks, doubtful).await,
    };
    Ok((sent, replies))
}

/// Whether there is one at most for each queue. Comparisons of one transaction do not see what it
/// writes: two would both be the first (K1). An attempt that was cancelled may be on its way still
/// when the next one of its name comes.
fn are_apart(asks: &[Ask]) -> bool {
    let mut queues = HashSet::new();
    asks.iter().all(|ask| match ask {
        Ask::Make { queue, .. } => queues.insert(queue),
        Ask::Delete(_) => true,
    })
}

/// Asks for all of them in one transaction, in which the deletions come first: a place that is made
/// after them has none of them before it. `None` if the store refuses one of them, and so all.
async fn together(
    session: &Arc<Session>,
    asks: &[Ask],
    doubtful: &AtomicBool,
) -> Result<Option<Vec<Found>>> {
    let is_delete = |ask: &Ask| matches!(ask, Ask::Delete(_));
    let mut order: Vec<usize> = (0..asks.len()).collect();
    order.sort_by_key(|at| !is_delete(&asks[*at]));
    let ops = order.iter().map(|at| match &asks[*at] {
        Ask::Make { txn, .. } => TxnOp::txn(txn.clone()),
        Ask::Delete(key) => TxnOp::delete(&**key, None),
    });
    let txn = Txn::new().and_then(ops.collect::<Vec<_>>());
    let asks_all = |client: Arc<Client>| {
        let txn = txn.clone();
        async move {
            match client.kv_client().txn(txn).await {
                Err(error) if errors::is_refusal_of_one(&error) => Ok(None),
                answer => answer.map(Some),
            }
        }
    };
    let Some(answer) = session.ask_noting(doubtful, asks_all).await? else {
        return Ok(None);
    };
    let revision = revision(&answer)?;
    let found = answer.op_responses().into_iter().map(|op| match op {
        TxnOpResponse::Txn(inner) => Found {
            revision,
            succeeded: inner.succeeded(),
            ops: inner.op_responses(),
        },
        other => Found {
            revision,
            succeeded: true,
            ops: vec![other],
        },
    });
    let mut found: Vec<_> = order.iter().copied().zip(found).collect();
    if found.len() != asks.len() {
        return Err(errors::nonsense("another number of answers"));
    }
    found.sort_by_key(|(at, _)| *at);
    Ok(Some(found.into_iter().map(|(_, found)| found).collect()))
}

/// Asks for each of them by itself, all at a time.
async fn each(session: &Arc<Session>, asks: Vec<Ask>, doubtful: bool) -> Vec<Reply> {
    let lost = || Reply {
        found: Err(errors::nonsense("no answer")),
        doubtful: true,
    };
    let mut replies: Vec<_> = asks.iter().map(|_| lost()).collect();
    let mut asking = JoinSet::new();
    for (at, ask) in asks.into_iter().enumerate() {
        let session = session.clone();
        asking.spawn(async move {
            let doubtful = AtomicBool::new(doubtful);
            let found = alone(&session, &ask, &doubtful).await;
            let doubtful = doubtful.into_inner();
            (at, Reply { found, doubtful })
        });
    }
    while let Some(answered) = asking.join_next().await {
        if let Ok((at, reply)) = answered {
            replies[at] = reply;
        }
    }
    replies
}

async fn alone(session: &Arc<Session>, ask: &Ask, doubtful: &AtomicBool) -> Result<Option<Found>> {
    let asks = |client: Arc<Client>| async move {
        let mut client = client.kv_client();
        match ask {
            Ask::Make { txn, .. } => match client.txn(txn.clone()).await {
                Err(error) if errors::is_lease_gone(&error) => Ok(None),
                answer => answer.map(Some),
            },
            Ask::Delete(key) => client.delete(&**key, None).await.map(|_| None),
        }
    };
    let answer: Option<TxnResponse> = session.ask_noting(doubtful, asks).await?;
    let found = |answer: TxnResponse| {
        Ok(Found {
            revision: revision(&answer)?,
            succeeded: answer.succeeded(),
            ops: answer.op_responses(),
        })
    };
    answer.map(found).transpose()
}
