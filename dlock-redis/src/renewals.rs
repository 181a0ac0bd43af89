//! Renewals that are due together, in one command.

use std::{sync::Arc, time::Duration};

use dlock_core::{AttemptId, Batch, Clock, Landing, Sent};

use crate::{session::Session, wire};

/// At most so many in one command: the server does nothing else meanwhile.
const SIZE_MAX: usize = 500;

/// One lock to be renewed.
pub(crate) struct Renewal {
    pub(crate) key: String,
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

pub(crate) fn batch(session: Arc<Session>) -> Batch<Renewal, Found> {
    let clock = Clock::boottime();
    Batch::new(SIZE_MAX, move |renewals| {
        Box::pin(renew(session.clone(), clock.clone(), renewals))
    })
}

async fn renew(session: Arc<Session>, clock: Clock, renewals: Vec<Renewal>) -> Landing<Found> {
    let keys: Vec<&str> = renewals
        .iter()
        .map(|renewal| renewal.key.as_str())
        .collect();
    let args = renewals
        .iter()
        .flat_map(|Renewal { id, ttl, .. }| [id.to_string(), ttl.as_millis().to_string()]);
    let args: Vec<String> = args.collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let sent = Sent::now(&clock);
    let answer = session.run(&wire::RENEW, &keys, &args).await?;
    let answer: Vec<i64> = redis::from_redis_value(answer).map_err(wire::nonsense)?;
    if answer.len() != renewals.len() {
        return Err(wire::nonsense("an answer of another length"));
    }
    let found = answer.into_iter().map(|found| match found {
        1 => Found::Held,
        0 => Found::Gone,
        _ => Found::Taken,
    });
    Ok((sent, found.collect()))
}
