//! Backends that break one clause each.

use std::{
    collections::{HashMap, HashSet},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use conformance_tests::interpose::Interpose;
use dlock_core::{
    AttemptId, Error, ErrorKind, Holder, LockName, Mode, Result, Token,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, Wait},
    memory::Memory,
    toolkit::Lock,
};

fn token(value: u64) -> Result<Token> {
    Token::new(value).ok_or_else(|| Error::new(ErrorKind::Internal, "no token"))
}

/// Grants what another client holds (K1).
pub(super) struct GrantsTwice(pub(super) AtomicU64);

#[async_trait]
impl Interpose for GrantsTwice {
    async fn acquire(&self, _: &dyn DistributedLock, request: &AcquireRequest) -> Result<Lease> {
        let token = token(self.0.fetch_add(1, Ordering::Relaxed))?;
        Ok(request.granted(request.sent_now(), request.ttl, token, ()))
    }
}

/// Lets shared holders in beside an exclusive one (K1).
pub(super) struct ForgetsModes(pub(super) AtomicU64);

#[async_trait]
impl Interpose for ForgetsModes {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        if request.mode == Mode::Exclusive {
            return inner.acquire(request).await;
        }
        let token = token(self.0.fetch_add(1, Ordering::Relaxed))?;
        Ok(request.granted(request.sent_now(), request.ttl, token, ()))
    }
}

/// Counts the whole ttl, without a margin for clocks (K2).
pub(super) struct NoMargin;

#[async_trait]
impl Interpose for NoMargin {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        let lease = inner.acquire(request).await?;
        // A longer requested ttl has the same effect as a later reading of the clock.
        let mut longer = request.nested(|_| {});
        longer.ttl = request.ttl * 102 / 100;
        let deadline = longer
            .granted(request.sent_now(), longer.ttl, lease.token, ())
            .deadline;
        Ok(request.granted_until(deadline, lease.token, ()))
    }
}

/// Renews without a check that it is still there (K3).
pub(super) struct RenewsBlindly;

#[async_trait]
impl Interpose for RenewsBlindly {
    async fn renew(&self, _: &dyn DistributedLock, lease: &Lease) -> Result<Renewed> {
        Ok(lease.renewed(lease.sent_now(), lease.ttl))
    }
}

/// Takes what it cannot renew for unknown (K3, K8).
pub(super) struct NeverKnowsLoss;

#[async_trait]
impl Interpose for NeverKnowsLoss {
    async fn renew(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<Renewed> {
        match inner.renew(lease).await? {
            Renewed::Lost(_) => Err(Error::new(ErrorKind::Unavailable, "not renewed")),
            renewed => Ok(renewed),
        }
    }
}

/// Frees the lock of any holder (K4).
pub(super) struct ReleasesAnybodys(pub(super) Memory);

#[async_trait]
impl Interpose for ReleasesAnybodys {
    async fn release(&self, _: &dyn DistributedLock, lease: &Lease) -> Result<()> {
        self.0.expire(lease.name.as_str());
        Ok(())
    }
}

/// Fails to release what is gone (K4).
pub(super) struct ReleasesOnce(pub(super) Lock<HashSet<AttemptId>>);

#[async_trait]
impl Interpose for ReleasesOnce {
    async fn release(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<()> {
        let first = self.0.lock().insert(lease.id());
        if !first {
            return Err(Error::new(ErrorKind::Internal, "not held"));
        }
        inner.release(lease).await
    }
}

/// Frees nothing (K4, K12).
pub(super) struct NeverReleases;

#[async_trait]
impl Interpose for NeverReleases {
    async fn release(&self, _: &dyn DistributedLock, _: &Lease) -> Result<()> {
        Ok(())
    }
}

/// Gives all grants one token (K5).
pub(super) struct OneToken;

#[async_trait]
impl Interpose for OneToken {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        let lease = inner.acquire(request).await?;
        Ok(request.granted_until(lease.deadline, token(1)?, ()))
    }
}

/// Gives a retried attempt another token (K5, K9).
pub(super) struct FreshTokens(pub(super) AtomicU64);

#[async_trait]
impl Interpose for FreshTokens {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        let lease = inner.acquire(request).await?;
        let token = token(self.0.fetch_add(1, Ordering::Relaxed))?;
        Ok(request.granted_until(lease.deadline, token, ()))
    }
}

/// Polls instead of being woken, in no order (K6).
pub(super) struct Polls;

#[async_trait]
impl Interpose for Polls {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        loop {
            match inner
                .acquire(&request.nested(|_| {}).with_wait(Wait::Never))
                .await
            {
                Ok(lease) => return Ok(request.granted_until(lease.deadline, lease.token, ())),
                Err(error) if request.wait == Wait::Never => return Err(error),
                Err(_) => request.attempt.report_contended(),
            }
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
                () = request.attempt.cancelled() => return Err(Error::cancelled()),
            }
        }
    }
}

/// Counts the ttl from the start of the wait (K6).
pub(super) struct EatsTheTtl;

#[async_trait]
impl Interpose for EatsTheTtl {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        let sent = request.sent_now();
        let lease = inner.acquire(request).await?;
        Ok(request.granted(sent, request.ttl, lease.token, ()))
    }
}

/// Does not say that the store answered (K6).
pub(super) struct SaysNothing;

#[async_trait]
impl Interpose for SaysNothing {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        let lease = inner.acquire(&request.nested(|_| {})).await?;
        Ok(request.granted_until(lease.deadline, lease.token, ()))
    }
}

/// Leaves its grant without a holder when the caller is gone (K7).
pub(super) struct LeavesItBehind;

#[async_trait]
impl Interpose for LeavesItBehind {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        let lease = inner.acquire(request).await?;
        tokio::task::yield_now().await;
        if request.attempt.is_cancelled() {
            return Err(Error::contended());
        }
        Ok(lease)
    }
}

/// Goes on waiting after the caller is gone (K7).
pub(super) struct WaitsOn;

#[async_trait]
impl Interpose for WaitsOn {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        loop {
            match inner
                .acquire(&request.nested(|_| {}).with_wait(Wait::Never))
                .await
            {
                Ok(lease) => return Ok(request.granted_until(lease.deadline, lease.token, ())),
                Err(error) if request.wait == Wait::Never => return Err(error),
                Err(_) => request.attempt.report_contended(),
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
            if request.attempt.is_cancelled() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Waits until the lock is free, though the caller is gone (K7).
pub(super) struct IgnoresCancellation;

#[async_trait]
impl Interpose for IgnoresCancellation {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        loop {
            let attempt = request.nested(|_| {}).with_wait(Wait::Never);
            match inner.acquire(&attempt).await {
                Ok(lease) => return Ok(request.granted_until(lease.deadline, lease.token, ())),
                Err(error) if request.wait == Wait::Never => return Err(error),
                Err(_) => request.attempt.report_contended(),
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Folds names to lower case (K10).
pub(super) struct FoldsCase(pub(super) Lock<HashMap<AttemptId, Lease>>);

#[async_trait]
impl Interpose for FoldsCase {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        let mut folded = request.nested(|_| {});
        folded.name = LockName::new(&request.name.as_str().to_ascii_lowercase())?;
        let lease = inner.acquire(&folded).await?;
        let outer = request.granted_until(lease.deadline, lease.token, ());
        self.0.lock().insert(outer.id(), lease);
        Ok(outer)
    }

    async fn release(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<()> {
        let held = self.0.lock().remove(&lease.id());
        match held {
            Some(held) => inner.release(&held).await,
            None => Ok(()),
        }
    }

    async fn inspect(
        &self,
        inner: &dyn DistributedLock,
        name: &LockName,
    ) -> Result<Option<Holder>> {
        inner
            .inspect(&LockName::new(&name.as_str().to_ascii_lowercase())?)
            .await
    }
}

/// Finds no holder (K10).
pub(super) struct SeesNoHolder;

#[async_trait]
impl Interpose for SeesNoHolder {
    async fn inspect(&self, _: &dyn DistributedLock, _: &LockName) -> Result<Option<Holder>> {
        Ok(None)
    }
}

/// Leaves a task behind (K12).
pub(super) struct LeavesTasks;

#[async_trait]
impl Interpose for LeavesTasks {
    async fn release(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<()> {
        tokio::spawn(std::future::pending::<()>());
        inner.release(lease).await
    }
}
