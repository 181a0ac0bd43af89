//! The network between one client and the store, as a backend.

use std::{future::Future, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Effect, Error, ErrorKind, Holder, LockName, Result, Token,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, Wait},
    memory::Memory,
    toolkit::Lock,
};
use tokio::{spawn, time::sleep};

use super::{flaw::Flaw, random::Random};

/// A client without a reply gives up after this.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(30);

/// A waiting client tries again within this.
const POLL_MAX_MS: u64 = 8;

/// The first token of [`Flaw::ShrinkingTokens`].
const SHRINKING_FROM: u64 = u64::MAX / 4;

/// The token of a lease whose grant is not known.
const NO_TOKEN: Token = match Token::new(1) {
    Some(token) => token,
    None => unreachable!(),
};

/// How often the network fails, of 1,000 messages each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conditions {
    /// Messages that are lost.
    pub lost: u64,
    /// Requests that arrive after their client has given them up, or once more.
    pub late: u64,
    /// Messages that take up to a quarter of a second.
    pub slow: u64,
}

impl Conditions {
    /// No failures and no delays.
    pub const PERFECT: Self = Self {
        lost: 0,
        late: 0,
        slow: 0,
    };

    /// Each kind of failure.
    pub const BAD: Self = Self {
        lost: 40,
        late: 20,
        slow: 30,
    };

    /// Lost messages alone: nothing arrives late, so nothing may be left behind.
    pub const LOSSY: Self = Self {
        lost: 80,
        late: 0,
        slow: 0,
    };
}

/// A memory store behind a network. Cheap to clone; clones are the same connection.
#[derive(Clone, Debug)]
pub(super) struct Network(Arc<Link>);

#[derive(Debug)]
struct Link {
    store: Memory,
    random: Lock<Random>,
    conditions: Lock<Conditions>,
    flaw: Option<Flaw>,
    last_token: Lock<u64>,
}

/// The handle of a lease: what the store knows.
type Held = Arc<(Arc<AcquireRequest>, Lease)>;

impl Network {
    pub(super) fn new(store: Memory, random: Random, flaw: Option<Flaw>) -> Self {
        Self(Arc::new(Link {
            store,
            random: Lock::new(random),
            conditions: Lock::new(Conditions::PERFECT),
            flaw,
            last_token: Lock::new(SHRINKING_FROM),
        }))
    }

    pub(super) fn set(&self, conditions: Conditions) {
        *self.0.conditions.lock() = conditions;
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.0.flaw == Some(flaw)
    }

    fn roll<T>(&self, roll: impl FnOnce(&mut Random, Conditions) -> T) -> T {
        roll(&mut self.0.random.lock(), *self.0.conditions.lock())
    }

    /// Sends one request, and waits for its reply.
    async fn exchange<T, F>(
        &self,
        operation: impl Fn(Memory) -> F + Clone + Send + 'static,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>> + Send + 'static,
        T: Send + 'static,
    {
        self.delay().await;
        let is_lost = self.roll(|random, conditions| random.chance(conditions.lost));
        let is_late = self.roll(|random, conditions| {
            random.chance(conditions.late) || is_lost && conditions.late > 0 && random.chance(500)
        });
        if is_late {
            let (network, operation) = (self.clone(), operation.clone());
            spawn(async move {
                sleep(network.roll(|random, _| Duration::from_millis(random.below(200)))).await;
                let _ = operation(network.0.store.clone()).await;
            });
        }
        if is_lost {
            sleep(REQUEST_TIMEOUT).await;
            return Err(no_reply());
        }
        let reply = operation(self.0.store.clone()).await;
        self.delay().await;
        if self.roll(|random, conditions| random.chance(conditions.lost)) {
            sleep(REQUEST_TIMEOUT).await;
            return Err(no_reply());
        }
        reply
    }

    async fn delay(&self) {
        let millis = self.roll(|random, conditions| {
            let is_slow = random.chance(conditions.slow);
            match (conditions.slow, is_slow) {
                (0, _) => 0,
                (_, true) => random.below(250),
                (_, false) => random.below(4).saturating_sub(1),
            }
        });
        if millis > 0 {
            sleep(Duration::from_millis(millis)).await;
        }
    }

    /// One try. The same attempt may try again: the store knows it (K9).
    async fn try_once(&self, request: &AcquireRequest) -> Result<Lease> {
        let sent = request.sent_now();
        let nested = Arc::new(self.nested(request));
        let held = self
            .exchange(move |store: Memory| {
                let nested = nested.clone();
                async move {
                    let lease = store.acquire(&nested).await?;
                    Ok(Held::new((nested, lease)))
                }
            })
            .await?;
        let sent = match self.has(Flaw::DeadlineFromReply) {
            true => request.sent_now(),
            false => sent,
        };
        let token = match self.has(Flaw::ShrinkingTokens) {
            true => self.shrunk(),
            false => held.1.token,
        };
        Ok(request.granted(sent, request.ttl, token, held))
    }

    fn nested(&self, request: &AcquireRequest) -> AcquireRequest {
        let outer = request.attempt.clone();
        let nested = request.nested(move |cause| outer.report_lost(cause));
        nested.with_wait(Wait::Never)
    }

    fn shrunk(&self) -> Token {
        let mut last = self.0.last_token.lock();
        *last -= 1;
        Token::new(*last).unwrap_or(NO_TOKEN)
    }

    async fn pause(&self, request: &AcquireRequest) -> Result<()> {
        let millis = self.roll(|random, _| 1 + random.below(POLL_MAX_MS));
        tokio::select! {
            biased;
            () = request.attempt.cancelled() => Err(Error::cancelled()),
            () = sleep(Duration::from_millis(millis)) => Ok(()),
        }
    }

    /// Frees what an attempt without a reply may have been granted (K9).
    fn undo(&self, request: &AcquireRequest) {
        if self.has(Flaw::NoUndo) {
            return;
        }
        let until = request.clock().now().after(request.ttl);
        let nested = self.nested(request);
        // The store releases by the attempt; the token is not known.
        let lease = nested.granted(request.sent_now(), request.ttl, NO_TOKEN, ());
        let (network, held) = (self.clone(), Held::new((Arc::new(nested), lease)));
        drop(request.undo(until, move || {
            let (network, held) = (network.clone(), held.clone());
            async move { network.free(held).await }
        }));
    }

    async fn free(&self, held: Held) -> Result<()> {
        let is_any = self.has(Flaw::ReleaseAny);
        self.exchange(move |store| {
            let held = held.clone();
            async move {
                if is_any {
                    store.expire(held.1.name.as_str());
                }
                store.release(&held.1).await
            }
        })
        .await
    }
}

#[async_trait]
impl DistributedLock for Network {
    fn capabilities(&self) -> Capabilities {
        self.0.store.capabilities()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let mut is_unknown = false;
        loop {
            let answer = self.try_once(request).await;
            let error = match answer {
                Ok(lease) => return Ok(lease),
                Err(error) if error.is_contended() => {
                    request.attempt.report_contended();
                    error
                }
                Err(error) => {
                    is_unknown = true;
                    request.attempt.report_unavailable(&error);
                    error
                }
            };
            let ended = match request.wait {
                Wait::Never => Some(error),
                Wait::UntilCancelled => self.pause(request).await.err(),
            };
            if let Some(error) = ended {
                if is_unknown {
                    self.undo(request);
                }
                return Err(error);
            }
        }
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        let sent = lease.sent_now();
        if self.has(Flaw::RenewBlindly) {
            return Ok(lease.renewed(sent, lease.ttl));
        }
        let held = held(lease)?;
        let renew = move |store: Memory| {
            let held = held.clone();
            async move { store.renew(&held.1).await }
        };
        let sent = match self.exchange(renew).await? {
            Renewed::Lost(cause) => return Ok(Renewed::Lost(cause)),
            _ if self.has(Flaw::DeadlineFromReply) => lease.sent_now(),
            _ => sent,
        };
        Ok(lease.renewed(sent, lease.ttl))
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.free(held(lease)?).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.0.store.inspect(name).await
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

fn held(lease: &Lease) -> Result<Held> {
    let foreign = || Error::new(ErrorKind::Internal, "the lease is of another backend");
    lease.handle::<Held>().cloned().ok_or_else(foreign)
}

fn no_reply() -> Error {
    Error::new(ErrorKind::Unavailable, "no reply (simulated)").with_effect(Effect::Unknown)
}
