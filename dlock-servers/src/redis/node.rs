//! A server of Redis or Valkey, as a child process.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::{Login, Options, Reply, Tls, admin::Admin, options::quoted_path};
use crate::{Certificates, Port, Process, Program, controls::controls, until::until};

/// A server; it ends when this is dropped.
#[derive(Debug)]
pub struct Node {
    // Dropped in this order: the port stays reserved while the process lives.
    process: Process,
    port: Port,
    admin: Admin,
    certificates: Option<Certificates>,
}

/// The settings that servers of one group share.
#[derive(Debug)]
pub(super) struct Group<'a> {
    program: &'a Program,
    pub(super) options: &'a Options,
    certificates: Option<Certificates>,
}

controls!(Node);

impl Node {
    /// Starts a server with nothing in it, and waits until it answers.
    ///
    /// # Errors
    ///
    /// When it does not start: with the end of its log.
    ///
    /// # Cancel safety
    ///
    /// The server ends.
    pub async fn start(program: &Program, options: &Options) -> io::Result<Self> {
        Group::new(program, options)?.data(&[]).await
    }

    /// The address for clients; it never changes.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// The certificates for its clients, if it has TLS.
    #[must_use]
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// Sends one command over the administration socket, with all permissions.
    ///
    /// # Errors
    ///
    /// When it does not answer within 10 s, or refuses.
    pub async fn command(&self, words: &[&str]) -> io::Result<Reply> {
        self.admin.command(&[words]).await
    }

    /// Sends it commands on one connection, and gives the last reply: `WAIT` counts what its own
    /// connection has written.
    ///
    /// # Errors
    ///
    /// When it does not answer within 10 s, or refuses one.
    pub async fn commands(&self, commands: &[&[&str]]) -> io::Result<Reply> {
        self.admin.command(commands).await
    }

    /// The value of a field of `INFO`.
    ///
    /// # Errors
    ///
    /// When it does not answer, or has no such field.
    pub async fn info(&self, field: &str) -> io::Result<String> {
        let all = self.command(&["INFO", "everything"]).await?.text()?;
        field_of(&all, field).ok_or_else(|| io::Error::other(format!("no {field} in INFO")))
    }

    /// Starts it on the same port and data after it ended, and waits until it answers with its data
    /// loaded.
    ///
    /// # Errors
    ///
    /// When it runs, or does not start: with the end of its log.
    ///
    /// # Cancel safety
    ///
    /// The process runs on.
    pub async fn resume(&mut self) -> io::Result<()> {
        let admin = &self.admin;
        let ready = || async { admin.command(&[&["PING"]]).await.map(drop) };
        self.process.start(ready).await
    }

    /// Waits until it follows `primary`, and `primary` counts it: that is up to a second later.
    pub(super) async fn until_it_follows(&self, primary: &Self) -> io::Result<()> {
        let port = format!(",port={},state=online,", self.address().port());
        until("a replica that follows its primary", || async {
            let link = self.info("master_link_status").await?;
            let replicas = primary.command(&["INFO", "replication"]).await?.text()?;
            if link == "up" && replicas.contains(&port) {
                return Ok(());
            }
            Err(io::Error::other(format!("the link is {link}; {replicas}")))
        })
        .await
    }
}

impl<'a> Group<'a> {
    pub(super) fn new(program: &'a Program, options: &'a Options) -> io::Result<Self> {
        let certificates = match options.tls {
            Tls::Off => None,
            Tls::On | Tls::Mutual => Some(Certificates::generate()?),
        };
        Ok(Self {
            program,
            options,
            certificates,
        })
    }

    /// Starts a server for data, with further lines in its configuration.
    pub(super) async fn data(&self, lines: &[String]) -> io::Result<Node> {
        let lines = [&self.options.data(), lines].concat();
        self.node(&lines, self.options.login.clone(), None).await
    }

    /// Starts a Sentinel, with further lines in its configuration.
    pub(super) async fn sentinel(&self, lines: &[String]) -> io::Result<Node> {
        let lines = [&self.options.sentinel(), lines].concat();
        let login = self.options.login.clone();
        self.node(&lines, login, Some("--sentinel")).await
    }

    async fn node(&self, lines: &[String], login: Login, role: Option<&str>) -> io::Result<Node> {
        let directory = TempDir::new()?;
        let port = Port::reserve()?;
        let socket = directory.path().join("admin");
        let network = self
            .options
            .network(port.number(), self.certificates.as_ref());
        let places = [
            format!("dir {}", quoted_path(directory.path())),
            format!("unixsocket {}", quoted_path(&socket)),
        ];
        let file = write_configuration(directory.path(), &[&places, &network[..], lines].concat())?;
        let arguments = std::iter::once(file).chain(role.map(PathBuf::from));
        let mut node = Node {
            process: Process::new(self.program.clone(), arguments, directory),
            port,
            admin: Admin { socket, login },
            certificates: self.certificates.clone(),
        };
        node.resume().await?;
        Ok(node)
    }
}

/// A server may rewrite it, as Sentinels do, so it is written once and not at each start.
fn write_configuration(directory: &Path, lines: &[String]) -> io::Result<PathBuf> {
    let file = directory.join("redis.conf");
    fs::write(&file, lines.join("\n") + "\n")?;
    Ok(file)
}

/// The value in the line `field:value`.
pub(super) fn field_of(lines: &str, field: &str) -> Option<String> {
    let mut lines = lines.lines().filter_map(|line| line.split_once(':'));
    lines
        .find(|(key, _)| *key == field)
        .map(|(_, value)| value.trim().to_owned())
}
