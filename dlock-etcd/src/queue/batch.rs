//! The key transactions of many tasks, in few requests.
//!
//! Each change of the store costs a round of the cluster and a write to disk, at any size. A transaction
//! that comes alone is sent at once; others that come at about the same time are sent together as one.
//! Each key is created by a transaction inside it, with comparisons of its own. A full server does not
//! check those, and may execute them.

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

use crate::{conn::members::Members, errors, ranges::revision};

/// The most operations in one transaction: servers allow 128 by default.
const SIZE_MAX: usize = 100;

/// Batches the transactions of one backend.
pub(crate) struct TxnBatcher(Batcher<Op, Reply>);

pub(crate) enum Op {
    /// Create, move or delete a key in this queue, with comparisons. `txn` makes the transaction for each try: a copy
    /// would cost as much again.
    Change {
        queue: String,
        txn: Box<dyn Fn() -> Txn + Send + Sync>,
    },
    /// Delete this key, which no other request creates at this time.
    Delete(String),
}

/// The reply to the transaction of one key.
pub(crate) struct TxnReply {
    /// The store's revision after it: the create revision of what it created.
    pub(crate) revision: i64,
    /// Whether its comparisons held.
    pub(crate) succeeded: bool,
    pub(crate) ops: Vec<TxnOpResponse>,
}

/// The reply to one of several operations.
struct Reply {
    /// The result that [`TxnBatcher::run`] returns.
    result: Result<Option<TxnReply>>,
    /// Whether a try of it may still be under way.
    effect_unknown: bool,
}

impl TxnBatcher {
    pub(crate) fn new(members: Arc<Members>) -> Self {
        Self(Batcher::eager(SIZE_MAX, move |ops| {
            let members = members.clone();
            Box::pin(async move { execute(&members, ops).await })
        }))
    }

    /// Runs an operation, together with others; `None` if the lease is gone, and for a deletion. Sets
    /// `effect_unknown` when a try without a reply may have been executed, or may be later.
    pub(crate) async fn run(
        &self,
        op: Op,
        effect_unknown: &AtomicBool,
    ) -> Result<Option<TxnReply>> {
        let reply = match self.0.join(op).await {
            Ok((_, reply)) => reply,
            Err(error) => Reply {
                effect_unknown: error.effect() == Effect::Unknown,
                result: Err(error),
            },
        };
        if reply.effect_unknown {
            effect_unknown.store(true, Ordering::Release);
        }
        reply.result
    }
}

async fn execute(members: &Arc<Members>, ops: Vec<Op>) -> BatchReply<Reply> {
    let sent = members.sent_now();
    let effect_unknown = AtomicBool::new(false);
    if let [op] = &*ops {
        let result = run_single(members, op, &effect_unknown).await;
        let effect_unknown = effect_unknown.into_inner();
        let reply = Reply {
            result,
            effect_unknown,
        };
        return Ok((sent, vec![reply]));
    }
    let replies = match are_independent(&ops) {
        true => run_together(members, &ops, &effect_unknown).await?,
        false => None,
    };
    let effect_unknown = effect_unknown.into_inner();
    let replies = match replies {
        Some(replies) => replies
            .into_iter()
            .map(|reply| Reply {
                result: Ok(Some(reply)),
                effect_unknown,
            })
            .collect(),
        None => run_each(members, ops, effect_unknown).await,
    };
    Ok((sent, replies))
}

/// Whether each queue has at most one change with comparisons. Comparisons of one transaction do not see its writes: two
/// keys would both be the first (K1). A cancelled attempt may be under way when the next one of its name
/// comes.
fn are_independent(ops: &[Op]) -> bool {
    let mut queues = HashSet::new();
    ops.iter().all(|op| match op {
        Op::Change { queue, .. } => queues.insert(queue),
        Op::Delete(_) => true,
    })
}

/// Runs all operations in one transaction, deletions first: a key that is created after them has none of
/// them before it. `None` if the store refuses one of them, and so all.
async fn run_together(
    members: &Arc<Members>,
    ops: &[Op],
    effect_unknown: &AtomicBool,
) -> Result<Option<Vec<TxnReply>>> {
    let is_delete = |op: &Op| matches!(op, Op::Delete(_));
    let mut order: Vec<usize> = (0..ops.len()).collect();
    order.sort_by_key(|at| !is_delete(&ops[*at]));
    let send = |client: Arc<Client>| {
        let txn_ops = order.iter().map(|at| match &ops[*at] {
            Op::Change { txn, .. } => TxnOp::txn(txn()),
            Op::Delete(key) => TxnOp::delete(&**key, None),
        });
        let txn = Txn::new().and_then(txn_ops.collect::<Vec<_>>());
        async move {
            match client.kv_client().txn(txn).await {
                Err(error) if errors::is_refusal_of_one(&error) => Ok(None),
                reply => reply.map(Some),
            }
        }
    };
    let Some(reply) = members.request_noting(effect_unknown, send).await? else {
        return Ok(None);
    };
    let revision = revision(&reply)?;
    let replies = reply.op_responses().into_iter().map(|op| match op {
        TxnOpResponse::Txn(inner) => TxnReply {
            revision,
            succeeded: inner.succeeded(),
            ops: inner.op_responses(),
        },
        other => TxnReply {
            revision,
            succeeded: true,
            ops: vec![other],
        },
    });
    let mut replies: Vec<_> = order.iter().copied().zip(replies).collect();
    if replies.len() != ops.len() {
        return Err(errors::unexpected_reply("another number of replies"));
    }
    replies.sort_by_key(|(at, _)| *at);
    Ok(Some(replies.into_iter().map(|(_, reply)| reply).collect()))
}

/// Runs each operation by itself, all concurrently.
async fn run_each(members: &Arc<Members>, ops: Vec<Op>, effect_unknown: bool) -> Vec<Reply> {
    let lost = || Reply {
        result: Err(errors::unexpected_reply("no reply")),
        effect_unknown: true,
    };
    let mut replies: Vec<_> = ops.iter().map(|_| lost()).collect();
    let mut running = JoinSet::new();
    for (at, op) in ops.into_iter().enumerate() {
        let members = members.clone();
        running.spawn(async move {
            let effect_unknown = AtomicBool::new(effect_unknown);
            let result = run_single(&members, &op, &effect_unknown).await;
            let effect_unknown = effect_unknown.into_inner();
            let reply = Reply {
                result,
                effect_unknown,
            };
            (at, reply)
        });
    }
    while let Some(ended) = running.join_next().await {
        if let Ok((at, reply)) = ended {
            replies[at] = reply;
        }
    }
    replies
}

async fn run_single(
    members: &Arc<Members>,
    op: &Op,
    effect_unknown: &AtomicBool,
) -> Result<Option<TxnReply>> {
    let send = |client: Arc<Client>| async move {
        let mut client = client.kv_client();
        match op {
            Op::Change { txn, .. } => match client.txn(txn()).await {
                Err(error) if errors::is_lease_gone(&error) => Ok(None),
                reply => reply.map(Some),
            },
            Op::Delete(key) => client.delete(&**key, None).await.map(|_| None),
        }
    };
    let reply: Option<TxnResponse> = members.request_noting(effect_unknown, send).await?;
    let found = |reply: TxnResponse| {
        Ok(TxnReply {
            revision: revision(&reply)?,
            succeeded: reply.succeeded(),
            ops: reply.op_responses(),
        })
    };
    reply.map(found).transpose()
}
