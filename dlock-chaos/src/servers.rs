//! The servers of a store, so that faults of servers are written once.

use std::{io, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use tokio::sync::Mutex;

/// An order to a server process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// SIGKILL.
    Kill,
    /// SIGTERM, until it has ended.
    Terminate,
    /// Start on the same port and data, until it answers.
    Start,
    /// SIGSTOP.
    Stop,
    /// SIGCONT.
    Continue,
}

/// The servers of a store; several faults may use them at once.
#[async_trait]
pub(crate) trait Servers: Send + Sync + 'static {
    fn count(&self) -> usize;

    /// Does it to the server with this index. What is done already is not done again.
    async fn order(&self, index: usize, order: Order) -> io::Result<()>;

    /// The directory with its data.
    async fn directory(&self, index: usize) -> PathBuf;
}

/// One server process. The nodes of `dlock-servers` are such.
#[async_trait]
pub(crate) trait Server: Send + 'static {
    async fn order(&mut self, order: Order) -> io::Result<()>;
    fn directory(&self) -> PathBuf;
}

macro_rules! server {
    ($node:ty) => {
        #[async_trait]
        impl Server for $node {
            async fn order(&mut self, order: Order) -> io::Result<()> {
                let runs = self.process().pid().is_some();
                match order {
                    Order::Kill => self.kill(),
                    Order::Terminate if runs => {
                        // One that is stopped would not end.
                        self.cont()?;
                        self.terminate().await
                    }
                    Order::Start if !runs => self.resume().await,
                    Order::Stop if runs => self.stop(),
                    Order::Continue if runs => self.cont(),
                    Order::Terminate | Order::Start | Order::Stop | Order::Continue => Ok(()),
                }
            }

            fn directory(&self) -> PathBuf {
                self.process().directory().into()
            }
        }
    };
}

server!(dlock_servers::etcd::Node);
server!(dlock_servers::mysql::Node);
server!(dlock_servers::redis::Node);
server!(dlock_servers::zk::Node);

/// Servers that do not know each other.
#[async_trait]
impl<S: Server> Servers for Vec<Arc<Mutex<S>>> {
    fn count(&self) -> usize {
        self.len()
    }

    async fn order(&self, index: usize, order: Order) -> io::Result<()> {
        self[index].lock().await.order(order).await
    }

    async fn directory(&self, index: usize) -> PathBuf {
        self[index].lock().await.directory()
    }
}

/// A single server.
#[async_trait]
impl<S: Server> Servers for Mutex<S> {
    fn count(&self) -> usize {
        1
    }

    async fn order(&self, _: usize, order: Order) -> io::Result<()> {
        self.lock().await.order(order).await
    }

    async fn directory(&self, _: usize) -> PathBuf {
        self.lock().await.directory()
    }
}
