//! Renewals that are due together, in one command.

use std::{sync::Arc, time::Duration};

use dlock_core::{AttemptId, Batch, Clock, Landing, Result, Sent};

use crate::{
    layout::Keys,
    servers::{Call, Servers},
    wire,
};

/// At most so many in one command: the server does nothing else meanwhile.
const SIZE_MAX: usize = 500;

/// One lock to be renewed.
pub(crate) struct Renewal {
    pub(crate) keys: Arc<Keys>,
    pub(crate) id: AttemptId,
    pub(crate) ttl: Duration,
}

/// What the server found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Ours, renewed.
    Held,
    /// No key.
    Gone,
    /// Somebody else's key.
    Taken,
}

/// How renewals leave.
pub(crate) struct Renewals {
    servers: Arc<Servers>,
    clock: Clock,
    batch: Batch<Renewal, Found>,
}

impl Renewals {
    pub(crate) fn new(servers: Arc<Servers>) -> Self {
        let clock = Clock::boottime();
        let (at, beside) = (servers.clone(), clock.clone());
        Self {
            servers,
            clock,
            batch: Batch::new(SIZE_MAX, move |renewals| {
                let (servers, clock) = (at.clone(), beside.clone());
                Box::pin(async move { renew(&servers, &clock, &renewals).await })
            }),
        }
    }

    /// Renews one lock, together with others if it may be. In a Cluster a script has keys of one slot
    /// only: there each leaves by itself.
    pub(crate) async fn renew(&self, renewal: Renewal) -> Result<(Sent, Found)> {
        if self.servers.is_one() {
            return self.batch.join(renewal).await;
        }
        let (sent, found) = renew(&self.servers, &self.clock, &[renewal]).await?;
        let found = found.first().ok_or_else(|| wire::nonsense("no answer"))?;
        Ok((sent, *found))
    }
}

async fn renew(servers: &Servers, clock: &Clock, renewals: &[Renewal]) -> Landing<Found> {
    let keys: Vec<&str> = renewals
        .iter()
        .map(|renewal| renewal.keys.lock.as_str())
        .collect();
    let args = renewals
        .iter()
        .flat_map(|Renewal { id, ttl, .. }| [id.to_string(), ttl.as_millis().to_string()]);
    let args: Vec<String> = args.collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let call = Call {
        script: &wire::RENEW,
        keys: &keys,
        args: &args,
    };
    let sent = Sent::now(clock);
    let answer = servers.run(call).await?;
    let found: Vec<i64> = redis::from_redis_value(answer.value.clone()).map_err(wire::nonsense)?;
    if found.len() != renewals.len() {
        return Err(wire::nonsense("an answer of another length"));
    }
    // What a failover would forget is not renewed (T8).
    answer.acknowledged(&servers.options).await?;
    let found = found.into_iter().map(|found| match found {
        1 => Found::Held,
        0 => Found::Gone,
        _ => Found::Taken,
    });
    Ok((sent, found.collect()))
}
