//! A server of ZooKeeper, as a child process.

use std::{fs, io, net::SocketAddr, time::Duration};

use tempfile::TempDir;
use tokio::{net::TcpStream, time::timeout};

use super::{Java, Options, admin, sessions::end_session};
use crate::{Certificates, Port, Process, controls::controls};

/// A server that has just begun to listen may drop an early command, which is then repeated.
const FIRST_ANSWER_MAX: Duration = Duration::from_secs(1);

/// A server; it ends when this is dropped.
#[derive(Debug)]
pub struct Node {
    // Dropped in this order: the ports stay reserved while the process lives.
    process: Process,
    port: Port,
    secure: Option<(Port, Certificates)>,
    /// For leading, and for elections.
    quorum_ports: Vec<Port>,
}

/// A server's place among others.
#[derive(Debug, Default)]
pub(super) struct Member {
    pub(super) id: usize,
    /// `server.N=…`.
    pub(super) lines: Vec<String>,
}

controls!(Node);

impl Node {
    /// Starts an empty standalone server, and waits until it serves.
    ///
    /// # Errors
    ///
    /// When it does not start: with the end of its log.
    ///
    /// # Cancel safety
    ///
    /// The server ends.
    pub async fn start(java: &Java, options: &Options) -> io::Result<Self> {
        let mut node = Self::new(java, options, &Member::default())?;
        node.resume().await?;
        Ok(node)
    }

    /// A server that is not started yet.
    pub(super) fn new(java: &Java, options: &Options, member: &Member) -> io::Result<Self> {
        let directory = TempDir::new()?;
        let port = Port::reserve()?;
        let data = directory.path().join("data");
        fs::create_dir(&data)?;
        let identity = directory.path().join("identity.pem");
        let secure = if options.has_tls {
            let certificates = Certificates::generate()?;
            let key = fs::read_to_string(certificates.server_key())?;
            let both = key + &fs::read_to_string(certificates.server())?;
            fs::write(&identity, both)?;
            Some((Port::reserve()?, certificates))
        } else {
            None
        };
        let identity = identity.display().to_string();
        let mut lines = options.configuration(
            &data.display().to_string(),
            port.number(),
            secure
                .as_ref()
                .map(|(port, certificates)| (port.number(), certificates, &*identity)),
        );
        if member.id > 0 {
            fs::write(data.join("myid"), member.id.to_string())?;
            lines.extend(member.lines.iter().cloned());
        }
        let file = directory.path().join("zoo.cfg");
        fs::write(&file, lines.join("\n") + "\n")?;
        let mut arguments = java.arguments(options.java, &options.properties);
        arguments.push(file.display().to_string());
        Ok(Self {
            process: Process::new(java.program.clone(), arguments, directory),
            port,
            secure,
            quorum_ports: Vec::new(),
        })
    }

    /// Keeps the ports at which it meets the other servers.
    pub(super) fn keep(&mut self, ports: impl IntoIterator<Item = Port>) {
        self.quorum_ports.extend(ports);
    }

    /// The address for clients; it never changes.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// The address for clients with TLS, and the certificates for that, if the server has TLS.
    #[must_use]
    pub fn secure(&self) -> Option<(SocketAddr, &Certificates)> {
        let (port, certificates) = self.secure.as_ref()?;
        Some((port.address(), certificates))
    }

    /// Sends a four-letter word, and returns the answer.
    ///
    /// # Errors
    ///
    /// When it does not answer within 10 s.
    pub async fn command(&self, word: &str) -> io::Result<String> {
        admin::command(self.address(), word).await
    }

    /// The value of a field of `mntr`, such as `zk_watch_count`.
    ///
    /// # Errors
    ///
    /// When it does not answer, or has no such field.
    pub async fn metric(&self, field: &str) -> io::Result<String> {
        let all = self.command("mntr").await?;
        admin::field_of(&all, field).ok_or_else(|| io::Error::other(format!("no {field} in mntr")))
    }

    /// Ends a session, as its own client would.
    ///
    /// # Errors
    ///
    /// When it does not answer within 10 s.
    pub async fn end_session(&self, session: i64) -> io::Result<()> {
        end_session(self.address(), session).await
    }

    /// The server's mode: `standalone`, `leader`, `follower` or `read-only`.
    ///
    /// # Errors
    ///
    /// When it does not answer, or does not serve at present.
    pub async fn mode(&self) -> io::Result<String> {
        mode(self.address()).await
    }

    /// Starts it on the same port and data after it ended, and waits until it serves.
    ///
    /// # Errors
    ///
    /// When it runs, or does not start: with the end of its log.
    ///
    /// # Cancel safety
    ///
    /// The process runs on.
    pub async fn resume(&mut self) -> io::Result<()> {
        let address = self.address();
        let secure = self.secure.as_ref().map(|(port, _)| port.address());
        let ready = || async move {
            timeout(FIRST_ANSWER_MAX, mode(address)).await??;
            // It listens there a little later.
            match secure {
                Some(secure) => TcpStream::connect(secure).await.map(drop),
                None => Ok(()),
            }
        };
        self.process.start(ready).await
    }
}

async fn mode(address: SocketAddr) -> io::Result<String> {
    let answer = admin::command(address, "srvr").await?;
    let mode = admin::field_of(&answer, "Mode");
    mode.ok_or_else(|| io::Error::other(answer.trim().to_owned()))
}
