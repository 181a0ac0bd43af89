//! Whether the places of held locks are still there: those that are asked for together, in one
//! transaction.
//!
//! A lease that lives does not prove that what stood on it does (T23; failure-modes G).

use std::sync::Arc;

use dlock_core::toolkit::{BatchReply, Batcher};
use etcd_client::{Txn, TxnOp};

use crate::{
    conn::members::Session,
    errors,
    ranges::{first, keys_only, ranges},
};

/// At most so many in one transaction: servers take 128 unless told otherwise.
const SIZE_MAX: usize = 100;

/// Asks for the revisions in which keys were made; 0 for one that is not there.
pub(crate) fn batch(session: Arc<Session>) -> Batcher<String, i64> {
    Batcher::windowed(SIZE_MAX, move |keys| Box::pin(look(session.clone(), keys)))
}

async fn look(session: Arc<Session>, keys: Vec<String>) -> BatchReply<i64> {
    let ops = keys.iter().map(|key| TxnOp::get(&**key, Some(keys_only())));
    let txn = Txn::new().and_then(ops.collect::<Vec<_>>());
    let sent = session.start();
    let answer = session.ask(|client| {
        let txn = txn.clone();
        async move { client.kv_client().txn(txn).await }
    });
    let answer = answer.await?;
    let made = ranges(answer.op_responses())
        .map(|range| first(range).map_or(0, |place| place.create_revision()));
    let made: Vec<_> = made.collect();
    if made.len() != keys.len() {
        return Err(errors::nonsense("another number of ranges"));
    }
    Ok((sent, made))
}
