//! The requests about a lease.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use dlock_core::{Effect, Result, backend::SentAt, toolkit::Backoff};
use etcd_client::{Client, LeaseGrantOptions};
use tokio::time::timeout;

use crate::{config::whole_seconds, conn::members::Members, errors, keys, ranges::keys_only};

/// A lease whose grant has no reply is revoked with retries for this long; then it ends by itself.
const REVOKE_MAX: Duration = Duration::from_secs(60);

/// A lease that the store has granted.
pub(crate) struct Granted {
    pub(crate) id: i64,
    /// The send time of the confirmed request.
    pub(crate) sent: SentAt,
    /// How long the store keeps the lease without a keep-alive.
    pub(crate) ttl: Duration,
}

/// Requests a lease of `ttl`, in whole seconds. The id is ours, so that a grant whose reply is lost can be
/// requested again, and revoked.
pub(crate) async fn grant(members: &Arc<Members>, ttl: Duration) -> Result<Granted> {
    let id = rand::random_range(1..=i64::MAX);
    let requested = Duration::from_secs(whole_seconds(ttl));
    let granted = grant_with_id(members, id, requested).await;
    if let Err(error) = &granted
        && error.effect() == Effect::Unknown
    {
        tokio::spawn(timeout(REVOKE_MAX, revoke_unconfirmed(members.clone(), id)));
    }
    let (sent, ttl) = granted?;
    if let Some(warning) = members.config.long_lease_warning(requested, ttl) {
        members.warn_of_long_leases(&warning);
    }
    Ok(Granted { id, sent, ttl })
}

/// The send time of the confirmed grant, and its ttl.
async fn grant_with_id(
    members: &Arc<Members>,
    id: i64,
    requested: Duration,
) -> Result<(SentAt, Duration)> {
    let seconds = i64::try_from(requested.as_secs()).unwrap_or(i64::MAX);
    let first = members.sent_now();
    let granted = members.request(|client| async move {
        let sent = members.sent_now();
        let options = LeaseGrantOptions::new().with_id(id);
        match client.lease_client().grant(seconds, Some(options)).await {
            Ok(reply) => Ok(Some((sent, duration(reply.ttl()).max(requested)))),
            // By an earlier try of ours.
            Err(error) if errors::is_lease_taken(&error) => Ok(None),
            Err(error) => Err(error),
        }
    });
    // An earlier try was granted after the first one was sent.
    Ok(granted.await?.unwrap_or((first, requested)))
}

/// Ends a lease whose grant has an unknown effect.
async fn revoke_unconfirmed(members: Arc<Members>, id: i64) {
    let mut backoff = Backoff::new();
    let effect_unknown = AtomicBool::new(false);
    while revoke(&members, id, &effect_unknown).await.is_err() && !members.is_closed() {
        tokio::time::sleep(backoff.next_pause()).await;
    }
}

/// Ends a lease; succeeds also if it is gone already. Sets `effect_unknown` if a try may still be under
/// way.
pub(crate) async fn revoke(
    members: &Arc<Members>,
    id: i64,
    effect_unknown: &AtomicBool,
) -> Result<()> {
    let send = |client: Arc<Client>| async move {
        match client.lease_client().revoke(id).await {
            Err(error) if errors::is_lease_gone(&error) => Ok(()),
            reply => reply.map(drop),
        }
    };
    members.request_noting(effect_unknown, send).await
}

/// The send time of the confirmed keep-alive; `None` if the store has no such lease.
pub(crate) async fn keep_alive(
    members: &Arc<Members>,
    id: i64,
    max: Duration,
) -> Result<Option<SentAt>> {
    let send = |client: Arc<Client>| async move {
        let sent = members.sent_now();
        // A stream for each keep-alive, so that none has to be reopened.
        match client.lease_client().keep_alive(id).await {
            Ok(_) => Ok(Some(sent)),
            Err(error) if errors::is_lease_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    };
    members
        .request_within(max, &AtomicBool::new(false), send)
        .await
}

/// The Raft term, by a linearizable read: of the present leader, or of a later one.
pub(crate) async fn read_raft_term(members: &Arc<Members>, max: Duration) -> Result<u64> {
    let key = keys::layout_record(members.config.key_prefix());
    let send = |client: Arc<Client>| {
        let key = &*key;
        async move { client.kv_client().get(key, Some(keys_only())).await }
    };
    let reply = members
        .request_within(max, &AtomicBool::new(false), send)
        .await?;
    members.observe_raft_term(reply.header())
}

fn duration(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}
