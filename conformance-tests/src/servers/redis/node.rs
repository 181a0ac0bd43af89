//! One server.

use std::{fs, io, net::SocketAddr, path::PathBuf};

use tempfile::TempDir;

use super::{
    Options, Reply, Tls,
    admin::Admin,
    options::quoted_path,
};
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

/// What a server is for: the words after the configuration file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Role {
    Data,
    Sentinel,
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
        Self::with(program, options, Role::Data, &[]).await
    }

    /// Starts one with further lines in its configuration, which it may rewrite.
    pub(super) async fn with(
        program: &Program,
        options: &Options,
        role: Role,
        lines: &[String],
    ) -> io::Result<Self> {
        let directory = TempDir::new()?;
        let certificates = match options.tls {
            Tls::Off => None,
            Tls::On | Tls::Mutual => Some(Certificates::make(directory.path())?),
        };
        Self::with_certificates(program, options, role, lines, directory, certificates).await
    }
}
