//! A store at the other end of a line, and its possible flaws. It is the smallest that the suite's cases of lines,
//! restarts and vanished hosts pass.
//!
//! Each request has a connection and a line of its own, and may be sent again. The store knows an attempt by its
//! number, also one that has been undone.

mod client;
mod flaw;
mod store;
mod wire;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use conformance_tests::{Backdoor, Extra, Link, Target, proxy::Proxy};
use dlock_core::{
    Capabilities, Error, ErrorKind, LockName, Result, backend::DistributedLock, toolkit::Lock,
};
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
};

pub(super) use self::flaw::Flaw;

use self::{
    client::{ANSWER_MAX, CAPABILITIES, Client},
    store::Store,
    wire::{receive, send},
};

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
            // A client that is gone needs no answer.
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

    async fn connect(&self, address: &str) -> Result<Box<dyn DistributedLock>> {
        let server = address.parse();
        let server = server.map_err(|_| Error::new(ErrorKind::InvalidConfig, "no address"))?;
        Ok(Box::new(Client::new(self.store.lock().flaw, server)))
    }

    fn backdoor(&self) -> Option<&dyn Backdoor> {
        Some(self)
    }

    fn extras(&self) -> &[Extra] {
        &[
            Extra::Link,
            Extra::EndSession,
            Extra::DataLoss,
            Extra::SafeDataLoss,
            Extra::FailOver,
        ]
    }

    async fn link(&self, _: &str) -> Result<Link> {
        let no_proxy = |error| Error::new(ErrorKind::Internal, "no proxy").with_source(error);
        let proxy = Proxy::start(self.server).map_err(no_proxy)?;
        let address = proxy.address().to_string();
        Ok(Link::new(address, vec![proxy], ANSWER_MAX))
    }

    fn tolerance(&self) -> Duration {
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

    async fn lose_data(&self, _: &str) -> Result<()> {
        self.store.lock().lose_data();
        Ok(())
    }

    async fn fail_over(&self, _: &str, _: &LockName) -> Result<()> {
        self.store.lock().restart_count();
        Ok(())
    }
}
