//! One try to take a lock, and its undoing.

use std::time::Duration;

use dlock_core::{
    AcquireRequest, AttemptId, Effect, ErrorKind, Holder, Lease, Result, Token, Wait,
};

use crate::{layout::Keys, session::Session, wire};

/// The lock is held by somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// For how long, if it is not renewed; `None` for a key without an end.
    pub(crate) left: Option<Duration>,
    /// By a client of dlock, which will publish its release.
    pub(crate) ours: bool,
}

/// How often a request is sent whose answer was lost (K9): on the next connection the server either
/// knows the attempt, or takes the lock for it then.
const TRIES_MAX: usize = 3;

/// How long an attempt that nobody wants any more is undone at most; then its ttl ends it.
pub(crate) const UNDO_MAX: Duration = Duration::from_secs(5);

/// Between two tries to undo.
const UNDO_PAUSE: Duration = Duration::from_millis(100);

/// Asks once. A granted answer proves the lock from before it was asked (K2), also for an attempt
/// that was granted before: its end is moved then.
pub(crate) async fn once(
    session: &Session,
    request: &AcquireRequest,
    keys: &Keys,
) -> Result<Result<Lease, Taken>> {
    let id = request.attempt.id().to_string();
    let ttl = request.ttl.as_millis().to_string();
    let holder = holder_without_token(request);
    let waits = if request.wait == Wait::Never {
        "0"
    } else {
        "1"
    };
    let sent = request.start();
    let answer = session
        .run_granting(
            &wire::ACQUIRE,
            &[&keys.lock, &keys.fence],
            &[&id, &ttl, &holder, waits],
        )
        .await?;
    let answer: Vec<i64> = redis::from_redis_value(answer).map_err(wire::nonsense)?;
    match answer[..] {
        [1, token] => {
            let token = u64::try_from(token).ok().and_then(Token::new);
            let token = token.ok_or_else(|| wire::nonsense("a token that is not positive"))?;
            Ok(Ok(request.granted(sent, request.ttl, token, ())))
        }
        [0, left, ours] => {
            let left = u64::try_from(left).ok().map(Duration::from_millis);
            Ok(Err(Taken {
                left,
                ours: ours == 1,
            }))
        }
        _ => Err(wire::nonsense("an answer of another shape")),
    }
}

/// Asks until there is an answer, for one who does not wait.
pub(crate) async fn surely(
    session: &Session,
    request: &AcquireRequest,
    keys: &Keys,
) -> Result<Result<Lease, Taken>> {
    let mut error = match once(session, request, keys).await {
        Err(error) if error.effect() == Effect::Unknown => error,
        answer => return answer,
    };
    let mut tries = 1;
    while tries < TRIES_MAX && error.effect() == Effect::Unknown && !request.attempt.is_cancelled()
    {
        tries += 1;
        error = match once(session, request, keys).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
    }
    // Also if the last one was never sent: the first was.
    undo(session, request, keys).await;
    Err(error.with_effect(Effect::Unknown))
}

/// Undoes an attempt of which nobody knows whether it was granted, bounded by [`UNDO_MAX`].
pub(crate) async fn undo(session: &Session, request: &AcquireRequest, keys: &Keys) {
    let undoing = async {
        while release(session, keys, request.attempt.id()).await.is_err() && !session.is_closed() {
            tokio::time::sleep(UNDO_PAUSE).await;
        }
    };
    let _ = tokio::time::timeout(UNDO_MAX.min(request.ttl), undoing).await;
}

/// Frees the attempt's own lock; success also if it is gone.
pub(crate) async fn release(session: &Session, keys: &Keys, id: AttemptId) -> Result<()> {
    let id = id.to_string();
    match session
        .run(&wire::RELEASE, &[&keys.lock], &[&id, &keys.channel])
        .await
    {
        // Something else has the key: ours is gone.
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
        answer => answer.map(drop),
    }
}

/// `SINCE PID@HOST NOTE`: what follows attempt and token in the value.
fn holder_without_token(request: &AcquireRequest) -> String {
    let one = Token::from(std::num::NonZeroU64::MIN);
    let line = Holder::of_request(request, one).to_string();
    line.splitn(3, ' ').nth(2).unwrap_or_default().to_owned()
}
