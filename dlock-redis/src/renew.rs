//! Renewals that are due together, in one command.

use std::{sync::Arc, time::Duration};

use dlock_core::{AttemptId, Clock, Result, backend::SentAt, toolkit::Batcher};
use redis::{Cmd, RedisWrite};

use crate::{
    acquire::batch::{each, only},
    conn::node::PATIENCE_MAX,
    keys::Keys,
    scripts,
    topology::router::{Call, Servers},
};

/// At most so many in one command: the server does nothing else meanwhile.
const SIZE_MAX: usize = 500;

/// A renewal that has no answer after this part of its ttl is made over another connection, too: it is due
/// when two thirds are left at the least, so there is time for both,
const PATIENCE_PART: u32 = 8;

/// but not sooner than this, or a short ttl on a long line would cost a connection for each renewal.
const PATIENCE_MIN: Duration = Duration::from_millis(100);

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
    batch: Batcher<Renewal, Result<Found>>,
}

impl Renewals {
    pub(crate) fn new(servers: Arc<Servers>) -> Self {
        let clock = Clock::boottime();
        let (at, beside) = (servers.clone(), clock.clone());
        Self {
            servers,
            clock,
            batch: Batcher::windowed(SIZE_MAX, move |renewals| {
                let (servers, clock) = (at.clone(), beside.clone());
                Box::pin(async move {
                    let sent = SentAt::now(&clock);
                    let found = each(&renewals, |part| renew(&servers, part)).await;
                    Ok((sent, found))
                })
            }),
        }
    }

    /// Renews one lock, together with others if it may be. In a Cluster a script has keys of one slot
    /// only: there each leaves by itself.
    pub(crate) async fn renew(&self, renewal: Renewal) -> Result<(SentAt, Found)> {
        if self.servers.is_one() {
            let (sent, found) = self.batch.join(renewal).await?;
            return Ok((sent, found?));
        }
        let sent = SentAt::now(&self.clock);
        let found = only(renew(&self.servers, &[renewal]).await?)?;
        Ok((sent, found))
    }
}

/// How long one connection may keep these waiting, whatever time-out the user has chosen.
fn patience(renewals: &[Renewal]) -> Duration {
    let ttl = renewals.iter().map(|renewal| renewal.ttl).min();
    let part = ttl.unwrap_or_default() / PATIENCE_PART;
    part.clamp(PATIENCE_MIN, PATIENCE_MAX)
}

async fn renew(servers: &Servers, renewals: &[Renewal]) -> Result<Vec<Result<Found>>> {
    let write = |command: &mut Cmd| {
        for Renewal { keys, .. } in renewals {
            command.arg(&keys.lock);
        }
        for Renewal { id, ttl, .. } in renewals {
            command.write_arg_fmt(id);
            command.arg(scripts::millis(*ttl));
        }
    };
    let call = Call {
        script: &scripts::RENEW,
        key: renewals.first().map_or("", |renewal| &renewal.keys.lock),
        keys: renewals.len(),
        write: &write,
    };
    let answer = servers.run(call, patience(renewals)).await?;
    let found: Vec<i64> =
        redis::from_redis_value(answer.value.clone()).map_err(scripts::nonsense)?;
    if found.len() != renewals.len() {
        return Err(scripts::nonsense("an answer of another length"));
    }
    let found = found.into_iter().map(|found| match found {
        1 => Found::Held,
        0 => Found::Gone,
        _ => Found::Taken,
    });
    let mut found: Vec<Result<Found>> = found.map(Ok).collect();
    let is_held = |found: &Result<Found>| matches!(found, Ok(Found::Held));
    // What a failover would forget is not renewed (T8); what is lost is lost.
    if found.iter().any(is_held)
        && let Err(error) = answer.acknowledged(&servers.options).await
    {
        for found in found.iter_mut().filter(|found| is_held(found)) {
            *found = Err(error.duplicate());
        }
    }
    Ok(found)
}
