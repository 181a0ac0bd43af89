//! Acquires and releases of many tasks, in few commands.
//!
//! A script costs the server more than what it does, and each request costs the driver and the system. Batched,
//! many tasks cost about half of what they would cost one by one.

use std::{future::Future, sync::Arc};

use dlock_core::{
    Clock, Error, ErrorKind, Result,
    backend::SentAt,
    toolkit::{BatchReply, Batcher},
};
use futures_util::future::join_all;

use crate::{
    conn::{replication::wait_for_replicas, request::HEDGE_AFTER_MAX},
    errors,
    scripts::{AcquireCall, AcquireItem, Call, Listeners, Outcome, ReleaseCall, ReleaseItem},
    topology::router::Router,
};

/// The bound on a batch: the server does nothing else during its command.
const SIZE_MAX: usize = 100;

/// Sends acquires and releases.
pub(crate) struct CommandBatcher {
    pub(crate) router: Arc<Router>,
    clock: Clock,
    batcher: Batcher<Command, Reply>,
}

enum Command {
    Acquire(AcquireItem),
    Release(ReleaseItem),
}

enum Reply {
    Acquire(Result<Outcome>),
    Release(Result<Listeners>),
}

impl CommandBatcher {
    pub(crate) fn new(router: Arc<Router>) -> Self {
        let clock = Clock::boottime();
        let (to, sent_by) = (router.clone(), clock.clone());
        let batcher = Batcher::eager(SIZE_MAX, move |commands| {
            let (router, clock) = (to.clone(), sent_by.clone());
            Box::pin(async move { execute(&router, &clock, commands).await })
        });
        Self {
            router,
            clock,
            batcher,
        }
    }

    /// Acquires one lock: when the command was sent, and its outcome.
    pub(crate) async fn acquire(&self, item: AcquireItem) -> Result<(SentAt, Outcome)> {
        let alone = self.batcher.alone();
        // A request that comes alone takes no batch, nor does one to a Cluster: a script has keys of one slot only.
        if alone.is_some() || !self.router.is_single() {
            let sent = SentAt::now(&self.clock);
            // Boxed here and below: the futures of batched requests stay small.
            let outcome = single(Box::pin(acquire(&self.router, &[item])).await?)?;
            return Ok((sent, outcome));
        }
        match self.batcher.join(Command::Acquire(item)).await? {
            (sent, Reply::Acquire(outcome)) => Ok((sent, outcome?)),
            (_, Reply::Release(_)) => Err(no_reply()),
        }
    }

    /// Releases one lock, if the attempt holds it; success also if it had ended.
    pub(crate) async fn release(&self, item: ReleaseItem) -> Result<Listeners> {
        let alone = self.batcher.alone();
        if alone.is_some() || !self.router.is_single() {
            return single(Box::pin(release(&self.router, &[item])).await?);
        }
        match self.batcher.join(Command::Release(item)).await? {
            (_, Reply::Release(released)) => released,
            (_, Reply::Acquire(_)) => Err(no_reply()),
        }
    }
}

/// Sends a batch as two commands, which the driver writes together. As one pipeline of the driver they would have one
/// error, and one hedge.
async fn execute(router: &Router, clock: &Clock, commands: Vec<Command>) -> BatchReply<Reply> {
    let (mut acquires, mut releases, mut order) = (Vec::new(), Vec::new(), Vec::new());
    for command in commands {
        order.push(matches!(command, Command::Acquire(_)));
        match command {
            Command::Acquire(item) => acquires.push(item),
            Command::Release(item) => releases.push(item),
        }
    }
    let sent = SentAt::now(clock);
    // Releases first: an acquire of the batch may be for the same lock.
    let (released, acquired) = tokio::join!(
        biased;
        Box::pin(split_on_denied(&releases, |part| release(router, part))),
        Box::pin(split_on_denied(&acquires, |part| acquire(router, part))),
    );
    let (mut released, mut acquired) = (released.into_iter(), acquired.into_iter());
    let replies = order.into_iter().map(|is_acquire| {
        if is_acquire {
            Reply::Acquire(acquired.next().unwrap_or_else(|| Err(no_reply())))
        } else {
            Reply::Release(released.next().unwrap_or_else(|| Err(no_reply())))
        }
    });
    Ok((sent, replies.collect()))
}

async fn acquire(router: &Router, items: &[AcquireItem]) -> Result<Vec<Result<Outcome>>> {
    let key = items.first().map_or("", |item| &item.keys.lock);
    let call = AcquireCall {
        counter: &router.counter_key(key),
        items,
        format: router.options.format,
        creates_counter: !router.is_single(),
    };
    let reply = router.send(Call::Acquire(call), None).await?;
    let mut outcomes = call.parse(reply.value.clone())?;
    for outcome in &outcomes {
        if let Ok(Outcome::Granted(token, _)) = outcome {
            router.observe_token(*token);
        }
    }
    reply.reconnect_if_demoted(&outcomes);
    let is_granted = |outcome: &Result<Outcome>| matches!(outcome, Ok(Outcome::Granted(..)));
    if outcomes.iter().any(is_granted)
        && let Err(error) = wait_for_replicas(&reply, &router.options).await
    {
        for outcome in outcomes.iter_mut().filter(|outcome| is_granted(outcome)) {
            *outcome = Err(error.duplicate());
        }
    }
    Ok(outcomes)
}

async fn release(router: &Router, items: &[ReleaseItem]) -> Result<Vec<Result<Listeners>>> {
    let call = ReleaseCall {
        items,
        format: router.options.format,
        publish: router.publish_command(),
    };
    let hedge_after = Some(HEDGE_AFTER_MAX);
    let reply = router.send(Call::Release(call), hedge_after).await?;
    let released = call.parse(reply.value.clone())?;
    reply.reconnect_if_demoted(&released);
    Ok(released)
}

/// Sends all items in one command. The server refuses a command as a whole if the user may not access one of its
/// keys. Then each item is sent in a command of its own, all at the same time: one after the other they would hold up
/// the batch (K13).
pub(crate) async fn split_on_denied<'a, T, A, F>(
    items: &'a [T],
    send: impl Fn(&'a [T]) -> F,
) -> Vec<Result<A>>
where
    F: Future<Output = Result<Vec<Result<A>>>> + 'a,
{
    if items.is_empty() {
        return Vec::new();
    }
    let error = match send(items).await {
        Ok(answers) => return answers,
        Err(error) => error,
    };
    if error.kind() != ErrorKind::Denied || items.len() == 1 {
        return items.iter().map(|_| Err(error.duplicate())).collect();
    }
    let send = &send;
    let each = items
        .chunks(1)
        .map(|item| async move { send(item).await.and_then(single) });
    // Boxed, as it is rare: the futures of requests stay small.
    Box::pin(join_all(each)).await
}

/// The answer to a command for one item.
pub(crate) fn single<A>(answers: Vec<Result<A>>) -> Result<A> {
    answers
        .into_iter()
        .next()
        .unwrap_or_else(|| Err(no_reply()))
}

fn no_reply() -> Error {
    errors::unexpected_reply("no reply to a member of a batch")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::{sync::Barrier, time::timeout};

    use super::*;

    #[tokio::test]
    async fn members_of_a_denied_batch_do_not_wait_for_one_another() {
        let all_are_sent = Barrier::new(3);
        let send = async |items: &[u8]| match items {
            [item] => {
                all_are_sent.wait().await;
                Ok(vec![Ok(*item)])
            }
            _ => Err(Error::new(ErrorKind::Denied, "one of them")),
        };
        let split = split_on_denied(&[1, 2, 3], send);
        let answers = timeout(Duration::from_secs(1), split).await;
        let answers = answers.expect("none waits for another's answer");
        assert!(answers.into_iter().flatten().eq([1, 2, 3]));
    }
}
