//! What etcd is asked about a lease.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use dlock_core::{Effect, Error, Result, backend::SentAt, toolkit::Backoff};
use etcd_client::{Client, LeaseGrantOptions};
use tokio::time::timeout;

use crate::{conn::members::Session, errors, keys as layout, ranges::keys_only};

/// A lease whose grant was not answered is recalled for so long; then it ends by itself.
const RECALL_MAX: Duration = Duration::from_secs(60);

/// A lease that the store has granted.
pub(crate) struct Granted {
    pub(crate) id: i64,
    /// When the request was sent that the store has confirmed.
    pub(crate) sent: SentAt,
    /// How long the store keeps it without a keep-alive.
    pub(crate) ttl: Duration,
}

/// Asks for a lease of `ttl`, in whole seconds. The identity is ours, so that a grant whose answer is
/// lost can be asked for again, and revoked (T33).
pub(crate) async fn grant(session: &Arc<Session>, ttl: Duration) -> Result<Granted> {
    let id = rand::random_range(1..=i64::MAX);
    let asked = Duration::from_secs(whole_seconds(ttl));
    let granted = grant_as(session, id, asked).await;
    if granted.as_ref().is_err_and(is_doubtful) {
        tokio::spawn(timeout(RECALL_MAX, recall(session.clone(), id)));
    }
    let (sent, ttl) = granted?;
    if let Some(warning) = session.config.longer_than_told(asked, ttl)
        && session.warns_of_leases()
    {
        tracing::warn!("{warning}");
    }
    Ok(Granted { id, sent, ttl })
}

/// When the grant was sent that the store has confirmed, and for how long it is.
async fn grant_as(session: &Arc<Session>, id: i64, asked: Duration) -> Result<(SentAt, Duration)> {
    let seconds = i64::try_from(asked.as_secs()).unwrap_or(i64::MAX);
    let first = session.start();
    let granted = session.ask(|client| async move {
        let sent = session.start();
        let options = LeaseGrantOptions::new().with_id(id);
        match client.lease_client().grant(seconds, Some(options)).await {
            Ok(answer) => Ok(Some((sent, duration(answer.ttl()).max(asked)))),
            // By an earlier try of ours.
            Err(error) if errors::is_lease_taken(&error) => Ok(None),
            Err(error) => Err(error),
        }
    });
    // Granted after the first of them was sent.
    Ok(granted.await?.unwrap_or((first, asked)))
}

fn is_doubtful(error: &Error) -> bool {
    error.effect() == Effect::Unknown
}

/// Ends a lease that may have been granted without our hearing so (T33).
async fn recall(session: Arc<Session>, id: i64) {
    let mut pause = Backoff::new();
    while revoke(&session, id, &AtomicBool::new(false)).await.is_err() && !session.is_closed() {
        tokio::time::sleep(pause.next_pause()).await;
    }
}

/// Ends a lease, which is done also if it is gone already; `doubtful` is set if a try of it may still
/// be on its way.
pub(crate) async fn revoke(session: &Arc<Session>, id: i64, doubtful: &AtomicBool) -> Result<()> {
    let asks = |client: Arc<Client>| async move {
        match client.lease_client().revoke(id).await {
            Err(error) if errors::is_lease_gone(&error) => Ok(()),
            answer => answer.map(drop),
        }
    };
    session.ask_noting(doubtful, asks).await
}

/// When the keep-alive was sent that the store has confirmed; `None` if it has no such lease.
pub(crate) async fn keep_alive(
    session: &Arc<Session>,
    id: i64,
    max: Duration,
) -> Result<Option<SentAt>> {
    let asks = |client: Arc<Client>| async move {
        let sent = session.start();
        // T21: a stream for each, so that none has to be reopened.
        match client.lease_client().keep_alive(id).await {
            Ok(_) => Ok(Some(sent)),
            Err(error) if errors::is_lease_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    };
    session.ask_within(max, &AtomicBool::new(false), asks).await
}

/// The term of the cluster, by a linearizable read: of the present leader, or of a later one.
pub(crate) async fn term(session: &Arc<Session>, max: Duration) -> Result<u64> {
    let key = layout::record(&session.config.prefix);
    let asks = |client: Arc<Client>| {
        let key = &*key;
        async move { client.kv_client().get(key, Some(keys_only())).await }
    };
    let answer = session
        .ask_within(max, &AtomicBool::new(false), asks)
        .await?;
    session.saw_term(answer.header())
}

/// The store counts whole seconds: rounded up, so that it never ends before the holder does.
pub(crate) fn whole_seconds(ttl: Duration) -> u64 {
    ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0)
}

fn duration(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}
