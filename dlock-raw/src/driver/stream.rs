//! A stream to a server, encrypted or not.

use std::{fmt, io, time::Duration};

use dlock_core::{Result, config::Tls};
use tokio::{net::TcpStream, time::timeout};

use super::{io::Stream, tls::TlsClient};

/// Opens streams to the servers of one URL.
#[derive(Clone)]
pub(crate) struct Opener {
    tls: Option<TlsClient>,
    connect_max: Duration,
}

impl Opener {
    /// Reads the certificates, if there is TLS.
    pub(crate) fn new(tls: Option<&Tls>, connect_max: Duration) -> Result<Self> {
        Ok(Self {
            tls: tls.map(TlsClient::new).transpose()?,
            connect_max,
        })
    }

    pub(crate) fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Connects, and encrypts the stream if the URL has TLS.
    pub(crate) async fn open(&self, host: &str, port: u16) -> io::Result<Stream> {
        let opening = async {
            let stream = TcpStream::connect((host, port)).await?;
            stream.set_nodelay(true)?;
            match &self.tls {
                Some(tls) => tls.encrypt(host, stream).await,
                None => Ok(Box::new(stream) as Stream),
            }
        };
        match timeout(self.connect_max, opening).await {
            Ok(opened) => opened,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener")
            .field("tls", &self.has_tls())
            .finish_non_exhaustive()
    }
}
