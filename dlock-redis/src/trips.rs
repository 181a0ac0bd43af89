//! Takes and releases of many tasks, in few commands.
//!
//! One that comes alone leaves at once; those who come while it is on its way leave together. A
//! script costs the server more than what it does, and each request costs the driver and the system:
//! together, many tasks cost about half of what they would cost one by one.

use std::{borrow::Cow, sync::Arc};

use dlock_core::{AttemptId, Batch, Clock, Error, Landing, Result, Sent, Token};
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
    batch: Batch<Asked, Answered>,
}

enum Asked {
    Take(Take),
    Release(Release),
}

enum Answered {
    Take(Result<Found>),
    Release(Result<()>),
}

impl Trips {
    pub(crate) fn new(servers: Arc<Servers>) -> Self {
        let clock = Clock::boottime();
        let (at, beside) = (servers.clone(), clock.clone());
        let batch = Batch::prompt(SIZE_MAX, move |asked| {
            let (servers, clock) = (at.clone(), beside.clone());
            Box::pin(async move { travel(&servers, &clock, asked).await })
        });
        Self {
            servers,
            clock,
            batch,
        }
    }

    /// Asks for a lock, and says when.
    pub(crate) async fn take(&self, item: Take) -> Result<(Sent, Found)> {
        // In a Cluster a script has keys of one slot only: there each leaves by itself.
        if !self.servers.is_one() {
            let sent = Sent::now(&self.clock);
            let found = take(&self.servers, &[item]).await?.pop();
            return Ok((sent, found.ok_or_else(no_answer)?));
        }
        match self.batch.join(Asked::Take(item)).await? {
            (sent, Answered::Take(found)) => Ok((sent, found?)),
            (_, Answered::Release(_)) => Err(no_answer()),
        }
    }

    /// Frees a lock, if it is the attempt's own.
    pub(crate) async fn release(&self, item: Release) -> Result<()> {
        if !self.servers.is_one() {
            return release(&self.servers, &[item]).await;
        }
        match self.batch.join(Asked::Release(item)).await? {
            (_, Answered::Release(released)) => released,
            (_, Answered::Take(_)) => Err(no_answer()),
        }
    }
}

fn no_answer() -> Error {
    wire::nonsense("no answer")
}

/// Asks for all of them in two commands.
async fn travel(servers: &Servers, clock: &Clock, asked: Vec<Asked>) -> Landing<Answered> {
    let (mut takes, mut releases, mut order) = (Vec::new(), Vec::new(), Vec::new());
    for asked in asked {
        order.push(matches!(asked, Asked::Take(_)));
        match asked {
            Asked::Take(take) => takes.push(take),
            Asked::Release(release) => releases.push(release),
        }
    }
    let sent = Sent::now(clock);
    let (released, taken) = tokio::join!(
        // First what is freed: it may be what somebody else takes.
        biased;
        release(servers, &releases),
        take(servers, &takes),
    );
    let mut taken = taken.map(Vec::into_iter);
    let answers = order.into_iter().map(|is_take| {
        if !is_take {
            let released = released.as_ref().copied();
            return Answered::Release(released.map_err(Error::again));
        }
        Answered::Take(match &mut taken {
            Ok(found) => found.next().ok_or_else(no_answer),
            Err(error) => Err(error.again()),
        })
    });
    Ok((sent, answers.collect()))
}

async fn take(servers: &Servers, takes: &[Take]) -> Result<Vec<Found>> {
    if takes.is_empty() {
        return Ok(Vec::new());
    }
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
    let args: Vec<Cow<'_, str>> = args.collect();
    let args: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
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
    Ok(found)
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

async fn release(servers: &Servers, releases: &[Release]) -> Result<()> {
    if releases.is_empty() {
        return Ok(());
    }
    let keys = releases.iter().map(|release| release.keys.lock.as_str());
    let keys: Vec<&str> = keys.collect();
    let ids = releases.iter().map(|release| release.id.to_string());
    let ids: Vec<String> = ids.collect();
    let args = ids.iter().map(String::as_str);
    let args: Vec<&str> = args.chain([servers.publish()]).collect();
    let answer = servers.run(call(&wire::RELEASE, &keys, &args)).await;
    answer.map(drop)
}

fn call<'a>(script: &'static Text, keys: &'a [&'a str], args: &'a [&'a str]) -> Call<'a> {
    Call { script, keys, args }
}
