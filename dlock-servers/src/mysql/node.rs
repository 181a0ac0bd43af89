//! A server of MySQL or MariaDB, as a child process.

use std::{ffi::OsString, io, net::SocketAddr, path::Path, sync::Arc};

use tempfile::TempDir;

use super::{Flavour, Options, admin::Admin, data::Original, options::common};
use crate::{Port, Process, controls::controls};

/// The database of the user.
const DATABASE: &str = "locks";

/// A server; it ends when this is dropped.
#[derive(Debug)]
pub struct Node {
    // Dropped in this order: the port stays reserved while the process lives.
    process: Process,
    port: Port,
    admin: Admin,
    flavour: Flavour,
    /// Kept for the next server that starts.
    _data: Arc<Original>,
}

controls!(Node);

impl Node {
    /// The user that logs in over the network, with its password.
    pub(super) const USER: &str = "app";
    pub(super) const PASSWORD: &str = "hunter2";

    /// Starts a server with an empty database and a user with all rights in it, and waits until
    /// it answers.
    ///
    /// # Errors
    ///
    /// When it does not start: with the end of its log.
    ///
    /// # Cancel safety
    ///
    /// The server ends.
    pub async fn start(flavour: Flavour, options: &Options) -> io::Result<Self> {
        let program = flavour.find().map_err(io::Error::other)?;
        let directory = TempDir::new()?;
        let port = Port::reserve()?;
        let socket = directory.path().join("admin");
        let data = Original::copy_to(directory.path(), flavour, &program).await?;
        let mut words = common(flavour, &program, directory.path());
        words.extend(
            [
                format!("--port={}", port.number()),
                format!("--socket={}", socket.display()),
                "--bind-address=127.0.0.1".to_owned(),
                "--max-connections=2000".to_owned(),
                "--pid-file=pid".to_owned(),
            ]
            .map(OsString::from),
        );
        words.extend(options.arguments.iter().map(OsString::from));
        let program = match &options.clock {
            Some(clock) => program.under(clock).map_err(io::Error::other)?,
            None => program,
        };
        let mut node = Self {
            process: Process::new(program, words, directory),
            port,
            admin: Admin { socket },
            flavour,
            _data: data,
        };
        node.resume().await?;
        let (user, password) = (Self::USER, Self::PASSWORD);
        node.query(&format!(
            "CREATE DATABASE {DATABASE}; CREATE USER {user} IDENTIFIED BY '{password}'; GRANT SELECT, \
             INSERT, UPDATE, DELETE, CREATE ON {DATABASE}.* TO {user}"
        ))
        .await?;
        Ok(node)
    }

    /// The address for clients; it never changes.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// The URL of its database for the user, without keys.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(self.address())
    }

    /// The URL by way of another address, such as a proxy's.
    #[must_use]
    pub fn url_at(&self, address: SocketAddr) -> String {
        Self::url_to(address)
    }

    /// The URL of such a database at an address.
    #[must_use]
    pub fn url_to(address: SocketAddr) -> String {
        let (user, password) = (Self::USER, Self::PASSWORD);
        format!("mysql://{user}:{password}@{address}/{DATABASE}")
    }

    pub(super) fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The socket of its administrator.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.admin.socket
    }

    /// Runs statements as the administrator, and returns the rows of all results as text.
    ///
    /// # Errors
    ///
    /// When it does not answer within 10 s, or refuses.
    pub async fn query(&self, sql: &str) -> io::Result<Vec<Vec<String>>> {
        self.admin.query(sql).await
    }

    /// Starts it on the same port and data after it ended, and waits until it answers.
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
        let ready = || async { admin.query("SELECT 1").await.map(drop) };
        self.process.start(ready).await
    }
}
