//! The backend of a client: a memory store behind a network, and its flaw.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Error, ErrorKind, Holder, LockName, Result, Token,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, Wait},
    memory::Memory,
    toolkit::Lock,
};

use super::{flaw::Flaw, network::Network};

/// The first token of [`Flaw::ShrinkingTokens`].
const SHRINKING_FROM: u64 = u64::MAX / 4;

/// The token of a lease whose grant is not known.
const NO_TOKEN: Token = match Token::new(1) {
    Some(token) => token,
    None => unreachable!(),
};

/// A memory store behind a network.
#[derive(Debug)]
pub(super) struct Backend {
    network: Network,
    flaw: Option<Flaw>,
    last_token: Lock<u64>,
}

/// The handle of a lease: what the store knows.
type Held = Arc<(Arc<AcquireRequest>, Lease)>;

impl Backend {
    pub(super) fn new(network: Network, flaw: Option<Flaw>) -> Self {
        Self {
            network,
            flaw,
            last_token: Lock::new(SHRINKING_FROM),
        }
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// One try. The same attempt may try again: the store knows it (K9).
    async fn try_once(&self, request: &AcquireRequest) -> Result<Lease> {
        let sent = request.sent_now();
        let nested = Self::nested(request);
        let held = self
            .network
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

    fn nested(request: &AcquireRequest) -> Arc<AcquireRequest> {
        let outer = request.attempt.clone();
        let nested = request.nested(move |cause| outer.report_lost(cause));
        Arc::new(nested.with_wait(Wait::Never))
    }

    fn shrunk(&self) -> Token {
        let mut last = self.last_token.lock();
        *last -= 1;
        Token::new(*last).unwrap_or(NO_TOKEN)
    }

    /// Frees what an attempt without a reply may have been granted (K9).
    fn undo(&self, request: &AcquireRequest) {
        if self.has(Flaw::NoUndo) {
            return;
        }
        let until = request.clock().now().after(request.ttl);
        let nested = Self::nested(request);
        // The store releases by the attempt; the token is not known.
        let lease = nested.granted(request.sent_now(), request.ttl, NO_TOKEN, ());
        let (network, held) = (self.network.clone(), Held::new((nested, lease)));
        let is_any = self.has(Flaw::ReleaseAny);
        drop(request.undo(until, move || free(network.clone(), held.clone(), is_any)));
    }
}

#[async_trait]
impl DistributedLock for Backend {
    fn capabilities(&self) -> Capabilities {
        self.network.store().capabilities()
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
                Wait::UntilCancelled => self.network.pause(request).await.err(),
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
        let sent = match self.network.exchange(renew).await? {
            Renewed::Lost(cause) => return Ok(Renewed::Lost(cause)),
            _ if self.has(Flaw::RenewalFromReply) => lease.sent_now(),
            _ => sent,
        };
        Ok(lease.renewed(sent, lease.ttl))
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        let is_any = self.has(Flaw::ReleaseAny);
        free(self.network.clone(), held(lease)?, is_any).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.network.store().inspect(name).await
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

async fn free(network: Network, held: Held, is_any: bool) -> Result<()> {
    let free = move |store: Memory| {
        let held = held.clone();
        async move {
            if is_any {
                store.expire(held.1.name.as_str());
            }
            store.release(&held.1).await
        }
    };
    network.exchange(free).await
}

fn held(lease: &Lease) -> Result<Held> {
    let foreign = || Error::new(ErrorKind::Internal, "the lease is of another backend");
    lease.handle::<Held>().cloned().ok_or_else(foreign)
}
