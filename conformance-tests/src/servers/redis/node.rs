//! One server.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::{Login, Options, Reply, Tls, admin::Admin, options::quoted_path};
use crate::servers::{Certificates, Port, Process, Program, until::until};

/// One server; it ends when this is dropped.
#[derive(Debug)]
pub struct Node {
    // Dropped in this order: nobody else may get the port while the process lives.
    process: Process,
    port: Port,
    admin: Admin,
    certificates: Option<Certificates>,
}

/// What servers that belong together share.
#[derive(Debug)]
pub(super) struct Group<'a> {
    program: &'a Program,
    pub(super) options: &'a Options,
    certificates: Option<Certificates>,
}

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

    /// Where its clients connect to; always the same.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// The certificates for its clients, if it has TLS.
    #[must_use]
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// Sends it one command by its administration socket, as a user who may do everything.
    ///
    /// # Errors
    ///
    /// When it does not answer within 10 s, or refuses.
    pub async fn ask(&self, words: &[&str]) -> io::Result<Reply> {
        self.admin.ask(&[words]).await
    }

    /// Sends it commands on one connection, and gives the last reply: `WAIT` counts what its own
    /// connection has written.
    ///
    /// # Errors
    ///
    /// When it does not answer within 10 s, or refuses one.
    pub async fn ask_in_turn(&self, commands: &[&[&str]]) -> io::Result<Reply> {
        self.admin.ask(commands).await
    }

    /// One field of its `INFO`.
    ///
    /// # Errors
    ///
    /// When it does not answer, or has no such field.
    pub async fn info(&self, field: &str) -> io::Result<String> {
        let all = self.ask(&["INFO", "everything"]).await?.text()?;
        field_of(&all, field).ok_or_else(|| io::Error::other(format!("no {field} in INFO")))
    }

    /// Kills it (SIGKILL); nothing to do when it does not run.
    ///
    /// # Errors
    ///
    /// As [`Process::kill`].
    pub fn kill(&mut self) -> io::Result<()> {
        self.process.kill()
    }

    /// Ends it as an administrator would (SIGTERM).
    ///
    /// # Errors
    ///
    /// As [`Process::terminate`].
    ///
    /// # Cancel safety
    ///
    /// It has the signal, and may still be running.
    pub async fn terminate(&mut self) -> io::Result<()> {
        self.process.terminate().await
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
        let ready = || async { admin.ask(&[&["PING"]]).await.map(drop) };
        self.process.start(ready).await
    }

    /// Kills it, then starts it again: its clients see a crash.
    ///
    /// # Errors
    ///
    /// As [`kill`](Self::kill) and [`resume`](Self::resume).
    ///
    /// # Cancel safety
    ///
    /// It may be down.
    pub async fn restart(&mut self) -> io::Result<()> {
        self.kill()?;
        self.resume().await
    }

    /// Stops it where it is (SIGSTOP): connections stay open, and nothing answers.
    ///
    /// # Errors
    ///
    /// When it does not run.
    pub fn stop(&self) -> io::Result<()> {
        self.process.stop()
    }

    /// Lets it go on (SIGCONT).
    ///
    /// # Errors
    ///
    /// When it does not run.
    pub fn cont(&self) -> io::Result<()> {
        self.process.cont()
    }

    /// The process itself: its id, directory and log.
    #[must_use]
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Waits until it follows its primary.
    pub(super) async fn until_it_follows(&self) -> io::Result<()> {
        until("a replica that follows its primary", || async {
            match self.info("master_link_status").await?.as_str() {
                "up" => Ok(()),
                other => Err(io::Error::other(format!("the link is {other}"))),
            }
        })
        .await
    }
}

impl<'a> Group<'a> {
    pub(super) fn new(program: &'a Program, options: &'a Options) -> io::Result<Self> {
        let certificates = match options.tls {
            Tls::Off => None,
            Tls::On | Tls::Mutual => Some(Certificates::make()?),
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
