//! A client of the store.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Effect, Error, ErrorKind, Expiry, Fencing, Holder, LockName, LostCause, Modes,
    Order, Result, Token, Waiting,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, Wait},
};
use tokio::{net::TcpStream, time::timeout};

use super::{
    flaw::Flaw,
    wire::{Answer, Request, What, receive, send},
};

/// How often a waiter polls, which keeps its queue position.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// How long an answer may take, with the connection for it.
pub(super) const ANSWER_MAX: Duration = Duration::from_millis(400);

pub(super) const CAPABILITIES: Capabilities = Capabilities {
    backend: "remote",
    modes: Modes::Exclusive,
    fencing: Fencing::Growing,
    order: Order::Unordered,
    waiting: Waiting::Polled,
    expiry: Expiry::Lease,
    ttl_min: Duration::from_millis(100),
    ttl_max: Duration::from_secs(86_400),
    held_max: None,
    takeover_max: POLL_EVERY,
    restart_guard: Duration::ZERO,
};

/// A client of the store at an address.
#[derive(Debug)]
pub(super) struct Client {
    flaw: Flaw,
    server: SocketAddr,
    number: u64,
    closed: AtomicBool,
}

impl Client {
    pub(super) fn new(flaw: Flaw, server: SocketAddr) -> Self {
        Self {
            flaw,
            server,
            number: rand::random(),
            closed: AtomicBool::new(false),
        }
    }

    fn request(&self, what: What, name: &LockName) -> Request {
        Request {
            what,
            name: name.to_string(),
            attempt: 0,
            client: self.number,
            ttl: Duration::ZERO,
            holder: String::new(),
        }
    }

    fn of_lease(&self, what: What, lease: &Lease) -> Request {
        Request {
            attempt: lease.id().as_u128(),
            ttl: lease.ttl,
            ..self.request(what, &lease.name)
        }
    }

    async fn send(&self, request: &Request) -> Result<Answer> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Unavailable, "this client is closed"));
        }
        self.exchange(request).await
    }

    async fn exchange(&self, request: &Request) -> Result<Answer> {
        let exchange = async {
            let mut stream = TcpStream::connect(self.server).await?;
            send(&mut stream, request).await?;
            receive(&mut stream).await
        };
        let unknown = |why: &'static str| {
            Error::new(ErrorKind::Unavailable, why).with_effect(Effect::Unknown)
        };
        match timeout(ANSWER_MAX, exchange).await {
            Ok(answer) => answer.map_err(|error| unknown("no answer").with_source(error)),
            Err(_) => Err(unknown("no answer in time")),
        }
    }

    /// Undoes an attempt until that is confirmed, or it has ended by its ttl.
    async fn undo(&self, request: &AcquireRequest, mut sent_request: Request) {
        sent_request.what = What::Release;
        let end = request.clock().now().after(request.ttl);
        while self.send(&sent_request).await.is_err() {
            let over = request.clock().now() > end || self.closed.load(Ordering::Acquire);
            if over {
                return;
            }
            tokio::time::sleep(POLL_EVERY).await;
        }
    }
}

#[async_trait]
impl DistributedLock for Client {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let mut sent_request = self.request(What::Wait, &request.name);
        if request.wait == Wait::Never {
            sent_request.what = What::Try;
        }
        sent_request.attempt = request.attempt.id().as_u128();
        sent_request.ttl = request.ttl;
        // The store knows the token.
        sent_request.holder = Holder::encode(request, None);
        loop {
            let mut sent = request.sent_now();
            let answer = self.send(&sent_request).await;
            if self.flaw == Flaw::CountsFromReply {
                sent = request.sent_now();
            }
            let refused = match answer {
                Ok(Answer::Granted(token)) => {
                    let token = Token::new(token).ok_or_else(Error::contended)?;
                    return Ok(request.granted(sent, request.ttl, token, ()));
                }
                Ok(_) => {
                    request.attempt.report_contended();
                    Error::contended()
                }
                Err(error) => {
                    request.attempt.report_unavailable(&error);
                    error
                }
            };
            if request.wait == Wait::UntilCancelled && !request.attempt.is_cancelled() {
                tokio::select! {
                    () = tokio::time::sleep(POLL_EVERY) => continue,
                    () = request.attempt.cancelled() => {}
                }
            }
            let is_answer = refused.kind() == ErrorKind::Contended;
            if is_answer || self.flaw != Flaw::TakesSilenceForNo {
                self.undo(request, sent_request).await;
            }
            return Err(refused);
        }
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        let sent = lease.sent_now();
        let renewed = lease.renewed(sent, lease.ttl);
        match self.send(&self.of_lease(What::Renew, lease)).await {
            Ok(Answer::Done) => Ok(renewed),
            _ if self.flaw == Flaw::RenewsBlindly => Ok(renewed),
            Err(_) if self.flaw == Flaw::RenewsUnheard => Ok(renewed),
            Ok(_) => Ok(Renewed::Lost(LostCause::Removed)),
            Err(error) => Err(error),
        }
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.send(&self.of_lease(What::Release, lease))
            .await
            .map(drop)
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        match self.send(&self.request(What::Inspect, name)).await? {
            Answer::Held(Some((holder, token))) => {
                Ok(Some(Holder::decode(holder.as_bytes(), Token::new(token))))
            }
            _ => Ok(None),
        }
    }

    async fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        let nothing = LockName::new("closed")?;
        self.exchange(&self.request(What::Close, &nothing))
            .await
            .map(drop)
    }
}
