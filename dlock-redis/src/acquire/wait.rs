//! Waiting for a lock that is taken.

use std::{pin::pin, sync::Arc, time::Duration};

use dlock_core::{
    Effect, Error, ErrorKind, Result,
    backend::{AcquireRequest, Lease},
    toolkit::{Backoff, pause, pause_after},
};

use tokio::time::timeout;

use crate::{
    acquire::{
        attempt::{Tried, try_once},
        batch::CommandBatcher,
        undo::undo,
    },
    keys::Keys,
    longest_ttl::LongestTtl,
    pubsub::{Subscriptions, Waiter},
    scripts::{Contended, Waits, Written},
};

/// The poll interval of a waiter that may miss the release. The holder is not a dlock client and may publish
/// nothing, or the pub/sub connection is overdue or takes long to make.
const POLL_EVERY: Duration = Duration::from_secs(1);

/// The server's clock has milliseconds: a key expires at the end of its last one.
const EXPIRY_ERROR: Duration = Duration::from_millis(1);

/// An acquire that waits.
#[derive(Clone, Copy)]
pub(super) struct Waiting<'a> {
    pub(super) batcher: &'a Arc<CommandBatcher>,
    pub(super) subscriptions: &'a Subscriptions,
    pub(super) longest_ttl: &'a LongestTtl,
    pub(super) request: &'a AcquireRequest,
    pub(super) keys: &'a Arc<Keys>,
}

/// Since when the waiter is notified of releases.
enum Subscribed {
    BeforeTry,
    AfterTry,
}

impl Waiting<'_> {
    /// Waits until the lock is granted or the attempt is cancelled; then it is [undone](undo). `first` is the
    /// result of the first try; without one the waiter subscribes before it tries.
    pub(super) async fn wait(self, first: Option<Tried>) -> Result<Lease> {
        let mut waiter = Waiter::new(self.subscriptions, self.keys.channel());
        let mut effect = Effect::None;
        let result = self.until_granted(first, &mut waiter, &mut effect).await;
        waiter.close();
        if result.is_err() && effect == Effect::Unknown {
            undo(self.batcher, self.request, self.keys).await;
            return result.map_err(|error| error.with_effect(Effect::Unknown));
        }
        // Others may wait, too.
        if let Some(written) = result.as_ref().ok().and_then(Lease::handle::<Arc<Written>>) {
            written.mark_wanted();
        }
        result
    }

    /// `effect` is that of the tries since the last answer.
    async fn until_granted(
        self,
        first: Option<Tried>,
        waiter: &mut Waiter,
        effect: &mut Effect,
    ) -> Result<Lease> {
        let attempt = &self.request.attempt;
        let mut backoff = Backoff::new();
        let mut tried = match first {
            Some(tried) => tried,
            None => {
                // A failure is noticed when it subscribes after the try.
                let subscribed = self.subscribe(waiter, &mut backoff);
                let _ = timeout(self.first_try_after(), subscribed).await;
                if attempt.is_cancelled() {
                    return Err(Error::cancelled());
                }
                try_once(self.batcher, self.request, self.keys, Waits::IfTaken).await
            }
        };
        loop {
            let waited = match tried {
                Ok(Ok(lease)) => return Ok(lease),
                Ok(Err(contended)) => {
                    *effect = Effect::None;
                    self.longest_ttl.report_contended(self.request, contended);
                    match self.until_released(contended, waiter, &mut backoff).await {
                        Err(error) if self.may_go_on(&error) && waiter.is_ambiguous() => {
                            pause_after(attempt, &error, &mut backoff).await
                        }
                        Err(error) if self.may_go_on(&error) => {
                            // The store has answered: the lock is taken (K6).
                            let why = format!("no release of it can be notified: {error}");
                            attempt.report_contended_with(Some(why));
                            pause(attempt, &mut backoff).await
                        }
                        released => released,
                    }
                }
                Err(error) => {
                    if error.effect() == Effect::Unknown {
                        *effect = Effect::Unknown;
                    }
                    match self.may_go_on(&error) {
                        true => pause_after(attempt, &error, &mut backoff).await,
                        false => Err(error),
                    }
                }
            };
            waited?;
            if attempt.is_cancelled() {
                return Err(Error::cancelled());
            }
            let waits = match waiter.listeners() {
                0 | 1 => Waits::IfTaken,
                _ => Waits::WithOthers,
            };
            tried = try_once(self.batcher, self.request, self.keys, waits).await;
        }
    }

    /// The longest time before a first try: half of a short wait.
    fn first_try_after(self) -> Duration {
        let now = self.request.clock().now();
        let half = self.request.wait_until.map(|until| until.since(now) / 2);
        half.map_or(POLL_EVERY, |half| half.min(POLL_EVERY))
    }

    fn may_go_on(self, error: &Error) -> bool {
        error.kind() == ErrorKind::Unavailable && !self.batcher.router.is_closed()
    }

    /// Returns when the lock may be free.
    async fn until_released(
        self,
        contended: Contended,
        waiter: &mut Waiter,
        backoff: &mut Backoff,
    ) -> Result<()> {
        let subscribed = self.subscribe(waiter, backoff);
        match timeout(POLL_EVERY, subscribed).await {
            Ok(Ok(Subscribed::BeforeTry)) => {
                let after = poll_after(contended, waiter.may_miss_messages());
                self.sleep(waiter, after).await;
                if waiter.is_connected() {
                    backoff.reset();
                }
                Ok(())
            }
            // An earlier release was published before the subscription: try again. A connection that is not
            // there yet may take long.
            Ok(Ok(Subscribed::AfterTry)) | Err(_) => Ok(()),
            Ok(Err(error)) => Err(error),
        }
    }

    async fn subscribe(self, waiter: &mut Waiter, backoff: &mut Backoff) -> Result<Subscribed> {
        let node = self.batcher.router.node_for(&self.keys.lock).await?;
        if waiter.is_subscribed(&node) {
            return Ok(Subscribed::BeforeTry);
        }
        if waiter.reset() {
            // Its connection has ended, perhaps as soon as it was made, and the next one may as well. A
            // connection that ends does not wake this pause: it would be made again without one.
            pause(&self.request.attempt, backoff).await?;
        }
        if self.request.attempt.is_cancelled() {
            return Err(Error::cancelled());
        }
        waiter.subscribe(&node).await?;
        Ok(Subscribed::AfterTry)
    }

    async fn sleep(self, waiter: &Waiter, after: Duration) {
        let clock = self.request.clock();
        let sleep = |after| clock.sleep_until_despite_suspend(clock.now().after(after));
        let mut pause = pin!(sleep(after + waiter.spread().unwrap_or_default()));
        loop {
            tokio::select! {
                () = waiter.woken() => match waiter.spread() {
                    Some(spread) => pause.set(sleep(spread.min(after))),
                    None => return,
                },
                () = &mut pause => return,
                () = self.request.attempt.cancelled() => return,
            }
        }
    }
}

/// The pause before the next try without a notification.
fn poll_after(contended: Contended, may_miss_messages: bool) -> Duration {
    match contended
        .expires_in
        .map(|expires_in| expires_in + EXPIRY_ERROR)
    {
        Some(end) if contended.by_dlock && !may_miss_messages => end,
        Some(end) => end.min(POLL_EVERY),
        // Another client has removed the ttl of the key.
        None => POLL_EVERY,
    }
}
