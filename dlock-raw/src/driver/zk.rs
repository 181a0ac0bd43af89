//! Requests to single servers of ZooKeeper, below the driver, which hides which server it is connected to.

use std::{io, time::Duration};

use dlock_core::{
    Error, ErrorKind, Result,
    config::{Credentials, Host, Login, Settings, Timeouts, Tls},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::timeout,
};
#[cfg(feature = "tls")]
use zookeeper_client::TlsOptions;
use zookeeper_client::{Client, Connector, Error as ZkError};

use super::{io::Stream, stream::Opener};

/// dlock-zk's own defaults.
const TIMEOUTS: Timeouts = Timeouts::new(Duration::from_secs(10), Duration::from_secs(5));
const PORT: u16 = 2181;

/// More bytes than the reply to a command has.
const REPLY_BYTES_MAX: u64 = 1024 * 1024;

/// More bytes than the reply to a request for a session has.
const SESSION_BYTES_MAX: usize = 1_024;

/// The type of a request to end a session.
const CLOSE: i32 = -11;

/// An address: host and port.
pub(crate) type Address = (String, u16);

/// The servers of a URL, and how they are connected to.
#[derive(Clone, Debug)]
pub(crate) struct Servers {
    pub(crate) addresses: Vec<Address>,
    login: Credentials,
    tls: Option<Tls>,
    timeouts: Timeouts,
    opener: Opener,
}

impl Servers {
    /// Reads the servers' part of the settings, and the certificates.
    pub(crate) fn take(settings: &mut Settings) -> Result<Self> {
        let address = |host: Host| (host.name, host.port.unwrap_or(PORT));
        let addresses: Vec<_> = settings.take_hosts().into_iter().map(address).collect();
        if addresses.is_empty() {
            return Err(settings.invalid("give a server, as in zk://127.0.0.1:2181"));
        }
        let mut timeouts = TIMEOUTS;
        timeouts.take(settings)?;
        let tls = match settings.scheme() {
            "zks" => Some(Tls::take(settings)?),
            _ => None,
        };
        Ok(Self {
            addresses,
            login: Login::take(settings)?.read()?,
            opener: Opener::new(tls.as_ref(), timeouts.connect)?,
            tls,
            timeouts,
        })
    }

    /// Whether its sessions log in, and so can own nodes.
    pub(crate) fn has_login(&self) -> bool {
        self.login.pair().is_some()
    }

    /// The driver's client: a session below `chroot`, which begins with a slash or is empty.
    pub(crate) async fn connect(&self, chroot: &str) -> Result<Client> {
        let hosts = self
            .addresses
            .iter()
            .map(|(host, port)| match host.contains(':') {
                true => format!("[{host}]:{port}"),
                false => format!("{host}:{port}"),
            });
        let cluster = format!("{}{chroot}", hosts.collect::<Vec<_>>().join(","));
        let mut connector = Client::connector().with_fail_eagerly();
        if let Some((user, password)) = self.login.pair() {
            let login = format!("{user}:{}", password.expose());
            connector = connector.with_auth("digest", login.as_bytes());
        }
        let connecting = async {
            match &self.tls {
                Some(files) => secure(connector, files, &cluster).await,
                None => connector.connect(&cluster).await.map_err(failed),
            }
        };
        match timeout(self.timeouts.connect, connecting).await {
            Ok(connected) => connected,
            Err(_) => Err(Error::new(
                ErrorKind::Unavailable,
                "no server gave a session",
            )),
        }
    }

    /// The reply of a server to a command of four letters.
    pub(crate) async fn command(&self, (host, port): &Address, word: &str) -> io::Result<String> {
        let exchange = async {
            let mut stream = self.opener.open(host, *port).await?;
            stream.write_all(word.as_bytes()).await?;
            let mut reply = Vec::new();
            stream.take(REPLY_BYTES_MAX).read_to_end(&mut reply).await?;
            io::Result::Ok(reply)
        };
        let reply = self.within(exchange).await?;
        Ok(String::from_utf8_lossy(&reply).into_owned())
    }

    /// The time-out of the session that a server gives instead of `requested`. The session is ended at once.
    pub(crate) async fn session(
        &self,
        (host, port): &Address,
        requested: Duration,
    ) -> io::Result<Duration> {
        let exchange = async {
            let mut stream = self.opener.open(host, *port).await?;
            let requested = i32::try_from(requested.as_millis()).unwrap_or(i32::MAX);
            let mut connect = Vec::new();
            // The version of the protocol, and the last transaction that was seen.
            connect.extend(0_i32.to_be_bytes());
            connect.extend(0_i64.to_be_bytes());
            connect.extend(requested.to_be_bytes());
            // A new session, with an empty password.
            connect.extend(0_i64.to_be_bytes());
            connect.extend(16_i32.to_be_bytes());
            connect.extend([0; 16]);
            // Not for reading only.
            connect.push(0);
            send(&mut stream, &connect).await?;
            let reply = receive(&mut stream).await?;
            let given = reply.get(4..8).and_then(|bytes| bytes.try_into().ok());
            let given = given.map_or(0, i32::from_be_bytes);
            let number = 1_i32.to_be_bytes();
            send(&mut stream, &[number, CLOSE.to_be_bytes()].concat()).await?;
            // The session has ended when the server says so.
            receive(&mut stream).await?;
            Ok(Duration::from_millis(u64::try_from(given).unwrap_or(0)))
        };
        self.within(exchange).await
    }

    async fn within<T>(&self, exchange: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        match timeout(self.timeouts.reply, exchange).await {
            Ok(result) => result,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// Connects over TLS, by the provider that the process has chosen, or by aws-lc-rs.
#[cfg(feature = "tls")]
async fn secure(connector: Connector, files: &Tls, cluster: &str) -> Result<Client> {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let ca = files.load_ca_or_system()?;
    let options = TlsOptions::new()
        .with_pem_ca(&String::from_utf8_lossy(&ca))
        .map_err(failed)?;
    let options = match files.load_identity()? {
        Some((cert, key)) => options
            .with_pem_identity(
                &String::from_utf8_lossy(&cert),
                &String::from_utf8_lossy(&key),
            )
            .map_err(failed)?,
        None => options,
    };
    connector
        .with_tls(options)
        .secure_connect(cluster)
        .await
        .map_err(failed)
}

#[cfg(not(feature = "tls"))]
async fn secure(_: Connector, _: &Tls, _: &str) -> Result<Client> {
    Err(Tls::left_out())
}

/// The failure of the driver as an error.
pub(crate) fn failed(error: ZkError) -> Error {
    let kind = match error {
        ZkError::NoAuth | ZkError::AuthFailed => ErrorKind::Denied,
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, "the driver of ZooKeeper failed").with_source(error)
}

async fn send(stream: &mut Stream, bytes: &[u8]) -> io::Result<()> {
    let length = i32::try_from(bytes.len()).map_err(io::Error::other)?;
    stream.write_i32(length).await?;
    stream.write_all(bytes).await?;
    stream.flush().await
}

async fn receive(stream: &mut Stream) -> io::Result<Vec<u8>> {
    let length = usize::try_from(stream.read_i32().await?).map_err(io::Error::other)?;
    if length > SESSION_BYTES_MAX {
        return Err(io::Error::other("the reply is not one of ZooKeeper"));
    }
    let mut reply = vec![0; length];
    stream.read_exact(&mut reply).await?;
    Ok(reply)
}
