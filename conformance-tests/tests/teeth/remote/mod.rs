//! A store at the other end of a line, the smallest that the suite's cases of lines, restarts and
//! vanished hosts pass; and what can be wrong with it.
//!
//! Each request has a connection and a line of its own, and may be sent again: the store knows an attempt
//! by its number, also one that has been undone.

mod client;
mod store;
mod wire;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use conformance_tests::{Backdoor, Extra, Line, Target, proxy::Proxy};
use dlock_core::{
    Capabilities, Error, ErrorKind, LockName, Result, backend::DistributedLock, toolkit::Lock,
};
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
};

use self::{
    client::{ANSWER_MAX, CAPABILITIES, Client},
    store::Store,
    wire::{receive, send},
};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// Nothing.
    None,
    /// A client that heard nothing takes its attempt for refused, and undoes nothing (K7, K9).
    TakesSilenceForNo,
    /// A client that hears nothing takes its lock for renewed (K2, K8).
    RenewsUnheard,
    /// A client takes its lock for renewed whatever it hears (K3, K8).
    RenewsBlindly,
    /// A counter of tokens goes with what is forgotten, and with a restart (K5).
    CountsAnew,
    /// Who waits keeps a place for good, and is granted the lock without asking for it (K6).
    QueuesTheDead,
    /// After it has forgotten, the store grants at once (K1).
    GrantsAtOnce,
}

/// A store with its server, for one case.
#[derive(Debug)]
pub(super) struct Remote {
    store: Arc<Lock<Store>>,
    server: SocketAddr,
    runtime: Option<Runtime>,
}

impl Remote {
    pub(super) fn start(flaw: Flaw) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let server = listener.local_addr()?;
        let store = Arc::new(Lock::new(Store::new(flaw)));
        runtime.spawn(serve(listener, store.clone()));
        Ok(Self {
            store,
            server,
            runtime: Some(runtime),
        })
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn serve(listener: TcpListener, store: Arc<Lock<Store>>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let store = store.clone();
        tokio::spawn(async move {
            // Who is gone needs no answer.
            if let Ok(request) = receive(&mut stream).await {
                let answer = store.lock().answer(&request);
                let _ = send(&mut stream, &answer).await;
            }
        });
    }
}

#[async_trait]
impl Target for Remote {
    fn name(&self) -> &str {
        "broken"
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn address(&self) -> Result<String> {
        Ok(self.server.to_string())
    }

    async fn connect(&self, address: &str) -> Result<Arc<dyn DistributedLock>> {
        let server = address.parse();
        let server = server.map_err(|_| Error::new(ErrorKind::InvalidConfig, "no address"))?;
        Ok(Arc::new(Client::new(self.store.lock().flaw, server)))
    }

    fn backdoor(&self) -> Option<&dyn Backdoor> {
        Some(self)
    }

    fn extras(&self) -> &[Extra] {
        &[
            Extra::Through,
            Extra::EndSession,
            Extra::Forget,
            Extra::ForgetSafely,
            Extra::FailOver,
        ]
    }

    async fn through(&self, _: &str) -> Result<Line> {
        let no_proxy = |error| Error::new(ErrorKind::Internal, "no proxy").with_source(error);
        let proxy = Proxy::start(self.server).map_err(no_proxy)?;
        Ok(Line::new(proxy.address().to_string(), proxy, ANSWER_MAX))
    }

    fn slack(&self) -> Duration {
        Duration::from_secs(2)
    }
}

#[async_trait]
impl Backdoor for Remote {
    async fn remove(&self, _: &str, name: &LockName) -> Result<()> {
        self.store.lock().remove(name.as_str());
        Ok(())
    }

    async fn residue(&self, _: &str) -> Result<Vec<String>> {
        Ok(self.store.lock().names())
    }

    async fn end_session(&self, _: &str, name: &LockName) -> Result<()> {
        self.store.lock().end_session(name.as_str());
        Ok(())
    }

    async fn forget(&self, _: &str) -> Result<()> {
        self.store.lock().forget();
        Ok(())
    }

    async fn fail_over(&self, _: &str, _: &LockName) -> Result<()> {
        self.store.lock().count_anew();
        Ok(())
    }
}
