//! Takes and releases of many tasks, in few commands.
//!
//! One that comes alone leaves at once; those who come while it is on its way leave together. A
//! script costs the server more than what it does, and each request costs the driver and the system:
//! together, 64 tasks cost a third of what they would cost one by one.

use std::sync::Arc;

use dlock_core::{AttemptId, Batch, Clock, Error, Flight, Landing, Result, Sent, Token};
use redis::Value;

use crate::{
    errors,
    layout::Keys,
    servers::{Call, Servers},
    take::Taken,
    wire::{self, Text},
};

/// At most so many in one command: the server does nothing else meanwhile.
const SIZE_MAX: usize = 100;

/// A lock to be taken.
pub(crate) struct Take {
    pub(crate) keys: Arc<Keys>,
    pub(crate) id: AttemptId,
    /// In milliseconds.
    pub(crate) ttl: u128,
    /// Who wants it, in words.
    pub(crate) holder: String,
    pub(crate) waits: bool,
}

/// A lock to be freed.
pub(crate) struct Release {
    pub(crate) keys: Arc<Keys>,
    pub(crate) id: AttemptId,
}

/// What the server found.
pub(crate) enum Found {
    Granted(Token),
    Taken(Taken),
    /// The keys of this name are something else.
    Refused(Error),
}

/// How takes and releases leave.
pub(crate) struct Trips {
    pub(crate) servers: Arc<Servers>,
    clock: Clock,
    takes: Batch<Take, Found>,
    releases: Batch<Release, ()>,
}

impl Trips {
    pub(crate) fn new(servers: Arc<Servers>) -> Self {
        let clock = Clock::boottime();
        Self {
            takes: batch(&servers, &clock, |servers, clock, takes| {
                Box::pin(async move { take(&servers, &clock, &takes).await })
            }),
            releases: batch(&servers, &clock, |servers, clock, releases| {
                Box::pin(async move { release(&servers, &clock, &releases).await })
            }),
            servers,
            clock,
        }
    }

    /// Asks for a lock, and says when.
    pub(crate) async fn take(&self, item: Take) -> Result<(Sent, Found)> {
        if self.servers.is_one() {
            return self.takes.join(item).await;
        }
        only(take(&self.servers, &self.clock, &[item]).await?)
    }

    /// Frees a lock, if it is the attempt's own.
    pub(crate) async fn release(&self, item: Release) -> Result<()> {
        if self.servers.is_one() {
            return self.releases.join(item).await.map(drop);
        }
        release(&self.servers, &self.clock, &[item]).await.map(drop)
    }
}

fn batch<T: Send + 'static, A: Send + 'static>(
    servers: &Arc<Servers>,
    clock: &Clock,
    launch: impl Fn(Arc<Servers>, Clock, Vec<T>) -> Flight<A> + Send + Sync + 'static,
) -> Batch<T, A> {
    let (servers, clock) = (servers.clone(), clock.clone());
    Batch::prompt(SIZE_MAX, move |items| {
        launch(servers.clone(), clock.clone(), items)
    })
}

/// In a Cluster a script has keys of one slot only: there each leaves by itself.
fn only<A>((sent, found): (Sent, Vec<A>)) -> Result<(Sent, A)> {
    let found = found.into_iter().next();
    let found = found.ok_or_else(|| wire::nonsense("no answer"))?;
    Ok((sent, found))
}

async fn take(servers: &Servers, clock: &Clock, takes: &[Take]) -> Landing<Found> {
    let keys = takes
        .iter()
        .flat_map(|take| [take.keys.lock.as_str(), &take.keys.fence]);
    let keys: Vec<&str> = keys.collect();
    let args = takes.iter().flat_map(|take| {
        let waits = if take.waits { "1" } else { "0" };
        let (id, ttl) = (take.id.to_string(), take.ttl.to_string());
        [
            id.into(),
            ttl.into(),
            take.holder.as_str().into(),
            waits.into(),
        ]
    });
    let args: Vec<std::borrow::Cow<'_, str>> = args.collect();
    let args: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
    let sent = Sent::now(clock);
    let answer = servers
        .run_granting(call(&wire::ACQUIRE, &keys, &args))
        .await?;
    let found: Vec<Value> =
        redis::from_redis_value(answer.value.clone()).map_err(wire::nonsense)?;
    let found = found.into_iter().map(read).collect::<Result<Vec<_>>>()?;
    if found.len() != takes.len() {
        return Err(wire::nonsense("an answer of another length"));
    }
    if found.iter().any(|found| matches!(found, Found::Granted(_))) {
        answer.acknowledged(&servers.options).await?;
    }
    Ok((sent, found))
}

fn read(found: Value) -> Result<Found> {
    match found {
        Value::Int(token) => {
            let token = u64::try_from(token).ok().and_then(Token::new);
            let token = token.ok_or_else(|| wire::nonsense("a token that is not positive"))?;
            Ok(Found::Granted(token))
        }
        Value::Array(words) => match &words[..] {
            [Value::Int(left), Value::Int(ours)] => Ok(Found::Taken(Taken::new(*left, *ours))),
            [Value::BulkString(error)] => Ok(Found::Refused(errors::of_script(error))),
            _ => Err(wire::nonsense("an answer of another shape")),
        },
        _ => Err(wire::nonsense("an answer of another shape")),
    }
}

async fn release(servers: &Servers, clock: &Clock, releases: &[Release]) -> Landing<()> {
    let keys = releases.iter().map(|release| release.keys.lock.as_str());
    let keys: Vec<&str> = keys.collect();
    let ids = releases.iter().map(|release| release.id.to_string());
    let ids: Vec<String> = ids.collect();
    let args = ids.iter().map(String::as_str);
    let args: Vec<&str> = args.chain([servers.publish()]).collect();
    let sent = Sent::now(clock);
    servers.run(call(&wire::RELEASE, &keys, &args)).await?;
    Ok((sent, vec![(); releases.len()]))
}

fn call<'a>(script: &'static Text, keys: &'a [&'a str], args: &'a [&'a str]) -> Call<'a> {
    Call { script, keys, args }
}
