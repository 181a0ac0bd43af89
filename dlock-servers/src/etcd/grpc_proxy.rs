//! etcd's own gRPC proxy.

use std::{ffi::OsString, io, net::SocketAddr};

use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::{Port, Process, Program};

/// `etcd grpc-proxy start`, before one member; it ends when this is dropped.
#[derive(Debug)]
pub struct GrpcProxy {
    // Dropped in this order: the port stays reserved while the process lives.
    _process: Process,
    port: Port,
}

impl GrpcProxy {
    /// Starts it, and waits until it listens.
    ///
    /// # Errors
    ///
    /// When it does not start: with the end of its log.
    ///
    /// # Cancel safety
    ///
    /// The proxy ends.
    pub async fn start(program: &Program, member: SocketAddr) -> io::Result<Self> {
        let port = Port::reserve()?;
        let address = port.address();
        let arguments = [
            "grpc-proxy",
            "start",
            "--endpoints",
            &member.to_string(),
            "--listen-addr",
            &address.to_string(),
            "--advertise-client-url",
            &address.to_string(),
        ]
        .map(OsString::from);
        let mut process = Process::new(program.clone(), arguments, TempDir::new()?);
        process
            .start(|| async move { TcpStream::connect(address).await.map(drop) })
            .await?;
        Ok(Self {
            _process: process,
            port,
        })
    }

    /// The address for clients.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }
}
