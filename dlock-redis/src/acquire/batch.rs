//! Takes and releases of many tasks, in few commands.
//!
//! One that comes alone leaves at once; those who come later leave together, as soon as they are as many
//! as are under way. A script costs the server more than what it does, and each request costs the driver
//! and the system: together, many tasks cost about half of what they would cost one by one.

use std::{future::Future, sync::Arc};

use dlock_core::{
    AttemptId, Clock, Error, ErrorKind, Result, Token,
    backend::SentAt,
    toolkit::{BatchReply, Batcher},
};
use redis::{Cmd, RedisWrite, Value};

use crate::{
    acquire::attempt::Taken,
    conn::node::{Answer, PATIENCE_MAX},
    errors,
    keys::Keys,
    scripts,
    topology::router::{Call, Servers},
};

/// At most so many in one command: the server does nothing else meanwhile.
const SIZE_MAX: usize = 100;

/// A lock to be taken.
pub(crate) struct Take {
    pub(crate) keys: Arc<Keys>,
    pub(crate) id: AttemptId,
    /// In milliseconds.
    pub(crate) ttl: u64,
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
}

/// How takes and releases leave.
pub(crate) struct Trips {
    pub(crate) servers: Arc<Servers>,
    clock: Clock,
    batch: Batcher<Asked, Answered>,
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
        let batch = Batcher::eager(SIZE_MAX, move |asked| {
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
    pub(crate) async fn take(&self, item: Take) -> Result<(SentAt, Found)> {
        // In a Cluster a script has keys of one slot only: there each leaves by itself.
        if !self.servers.is_one() {
            let sent = SentAt::now(&self.clock);
            let found = only(take(&self.servers, &[item]).await?)?;
            return Ok((sent, found));
        }
        match self.batch.join(Asked::Take(item)).await? {
            (sent, Answered::Take(found)) => Ok((sent, found?)),
            (_, Answered::Release(_)) => Err(no_answer()),
        }
    }

    /// Frees a lock, if it is the attempt's own.
    pub(crate) async fn release(&self, item: Release) -> Result<()> {
        if !self.servers.is_one() {
            return only(release(&self.servers, &[item]).await?);
        }
        match self.batch.join(Asked::Release(item)).await? {
            (_, Answered::Release(released)) => released,
            (_, Answered::Take(_)) => Err(no_answer()),
        }
    }
}

fn no_answer() -> Error {
    scripts::nonsense("no answer")
}

/// Asks for all of them in two commands.
async fn travel(servers: &Servers, clock: &Clock, asked: Vec<Asked>) -> BatchReply<Answered> {
    let (mut takes, mut releases, mut order) = (Vec::new(), Vec::new(), Vec::new());
    for asked in asked {
        order.push(matches!(asked, Asked::Take(_)));
        match asked {
            Asked::Take(take) => takes.push(take),
            Asked::Release(release) => releases.push(release),
        }
    }
    let sent = SentAt::now(clock);
    let (released, taken) = tokio::join!(
        // First what is freed: it may be what somebody else takes.
        biased;
        each(&releases, |part| release(servers, part)),
        each(&takes, |part| take(servers, part)),
    );
    let (mut released, mut taken) = (released.into_iter(), taken.into_iter());
    let answers = order.into_iter().map(|is_take| {
        if is_take {
            Answered::Take(taken.next().unwrap_or_else(|| Err(no_answer())))
        } else {
            Answered::Release(released.next().unwrap_or_else(|| Err(no_answer())))
        }
    });
    Ok((sent, answers.collect()))
}

/// Asks for all at once, and gives each its own answer. Who may not have one of the keys is refused as
/// a whole: then each is asked for by itself.
pub(crate) async fn each<'a, T, A, F>(items: &'a [T], ask: impl Fn(&'a [T]) -> F) -> Vec<Result<A>>
where
    F: Future<Output = Result<Vec<Result<A>>>> + 'a,
{
    if items.is_empty() {
        return Vec::new();
    }
    let error = match ask(items).await {
        Ok(answers) => return answers,
        Err(error) => error,
    };
    if error.kind() != ErrorKind::Denied || items.len() == 1 {
        return items.iter().map(|_| Err(error.duplicate())).collect();
    }
    let mut answers = Vec::with_capacity(items.len());
    for item in items.chunks(1) {
        let answer = ask(item).await.and_then(only);
        answers.push(answer);
    }
    answers
}

/// The answer to a question about one.
pub(crate) fn only<A>(answers: Vec<Result<A>>) -> Result<A> {
    answers
        .into_iter()
        .next()
        .unwrap_or_else(|| Err(no_answer()))
}

async fn take(servers: &Servers, takes: &[Take]) -> Result<Vec<Result<Found>>> {
    let key = takes.first().map_or("", |take| &take.keys.lock);
    let counter = servers.counter(key);
    let write = |command: &mut Cmd| {
        command.arg(&counter);
        for Take { keys, .. } in takes {
            command.arg(&keys.lock);
        }
        for take in takes {
            command.write_arg_fmt(take.id);
            command
                .arg(take.ttl)
                .arg(&take.holder)
                .arg(u8::from(take.waits));
        }
    };
    let call = Call {
        script: &scripts::ACQUIRE,
        key,
        keys: 1 + takes.len(),
        write: &write,
    };
    let answer = servers.run_granting(call).await?;
    let mut found: Vec<Result<Found>> = answers(&answer, takes.len())?
        .into_iter()
        .map(|value| read(servers, value))
        .collect();
    answer.end_if_replica(&found);
    if found.iter().any(is_granted)
        && let Err(error) = answer.acknowledged(&servers.options).await
    {
        for found in found.iter_mut().filter(|found| is_granted(found)) {
            *found = Err(error.duplicate());
        }
    }
    Ok(found)
}

fn is_granted(found: &Result<Found>) -> bool {
    matches!(found, Ok(Found::Granted(_)))
}

fn read(servers: &Servers, found: Value) -> Result<Found> {
    match found {
        Value::Int(token) => {
            let token = u64::try_from(token).ok().and_then(Token::new);
            let token = token.ok_or_else(|| scripts::nonsense("a token that is not positive"))?;
            servers.gave(token);
            Ok(Found::Granted(token))
        }
        Value::Array(words) => match &words[..] {
            [Value::Int(left), Value::Int(ours)] => Ok(Found::Taken(Taken::new(*left, *ours))),
            [Value::BulkString(error)] => Err(errors::of_script(error)),
            _ => Err(scripts::nonsense("an answer of another shape")),
        },
        _ => Err(scripts::nonsense("an answer of another shape")),
    }
}

async fn release(servers: &Servers, releases: &[Release]) -> Result<Vec<Result<()>>> {
    let write = |command: &mut Cmd| {
        for Release { keys, .. } in releases {
            command.arg(&keys.lock);
        }
        for Release { id, .. } in releases {
            command.write_arg_fmt(id);
        }
        command.arg(servers.publish());
    };
    let call = Call {
        script: &scripts::RELEASE,
        key: releases.first().map_or("", |release| &release.keys.lock),
        keys: releases.len(),
        write: &write,
    };
    let answer = servers.run(call, PATIENCE_MAX).await?;
    let released: Vec<Result<()>> = answers(&answer, releases.len())?
        .into_iter()
        .map(|value| match value {
            Value::Int(_) => Ok(()),
            Value::Array(words) => match &words[..] {
                [Value::BulkString(error)] => Err(errors::of_script(error)),
                _ => Err(scripts::nonsense("an answer of another shape")),
            },
            _ => Err(scripts::nonsense("an answer of another shape")),
        })
        .collect();
    answer.end_if_replica(&released);
    Ok(released)
}

fn answers(answer: &Answer, count: usize) -> Result<Vec<Value>> {
    let answers: Vec<Value> =
        redis::from_redis_value(answer.value.clone()).map_err(scripts::nonsense)?;
    if answers.len() == count {
        return Ok(answers);
    }
    Err(scripts::nonsense("an answer of another length"))
}
