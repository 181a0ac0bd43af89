//! A member of etcd, as a child process.

use std::{ffi::OsString, io, net::SocketAddr};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Login, Options, Tls, admin::Admin};
use crate::{Certificates, Port, Process, Program, controls::controls};

/// A member; it ends when this is dropped.
#[derive(Debug)]
pub struct Node {
    // Dropped in this order: the ports stay reserved while the process lives.
    process: Process,
    port: Port,
    _admin_port: Port,
    _peer_port: Port,
    admin: Admin,
    certificates: Option<Certificates>,
}

/// How a member meets the others.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) name: String,
    pub(super) peer_port: Port,
    /// The address for the other members.
    pub(super) advertised: SocketAddr,
    /// All members, as `--initial-cluster` has them.
    pub(super) members: String,
}

controls!(Node);

impl Node {
    /// Starts a server of one member with nothing in it, and waits until it answers.
    ///
    /// # Errors
    ///
    /// When it does not start: with the end of its log.
    ///
    /// # Cancel safety
    ///
    /// The server ends.
    pub async fn start(program: &Program, options: &Options) -> io::Result<Self> {
        let peer_port = Port::reserve()?;
        let advertised = peer_port.address();
        let place = Place {
            name: "m0".to_owned(),
            members: format!("m0=http://{advertised}"),
            peer_port,
            advertised,
        };
        let mut node = Self::new(program, options, place, Login::Open)?;
        node.resume().await?;
        node.let_in(options).await?;
        Ok(node)
    }

    /// Makes a member that is not started.
    pub(super) fn new(
        program: &Program,
        options: &Options,
        place: Place,
        login: Login,
    ) -> io::Result<Self> {
        let (port, admin_port) = (Port::reserve()?, Port::reserve()?);
        let certificates = match options.tls {
            Tls::Off => None,
            Tls::On | Tls::Mutual => Some(Certificates::generate()?),
        };
        let client = format!("{}://{}", options.tls.scheme(), port.address());
        let peer = format!("http://{}", place.peer_port.address());
        let arguments = [
            ("--name", place.name),
            ("--data-dir", "data".to_owned()),
            ("--logger", "zap".to_owned()),
            (
                "--listen-client-urls",
                format!("{client},http://{}", admin_port.address()),
            ),
            ("--advertise-client-urls", client),
            ("--listen-peer-urls", peer),
            (
                "--initial-advertise-peer-urls",
                format!("http://{}", place.advertised),
            ),
            ("--initial-cluster", place.members),
        ];
        let arguments = arguments
            .into_iter()
            .flat_map(|(key, value)| [key.into(), value.into()])
            .chain(options.tls.arguments(certificates.as_ref()))
            .chain(options.arguments.iter().map(OsString::from));
        let admin = Admin {
            address: admin_port.address(),
            login,
        };
        Ok(Self {
            process: Process::new(program.clone(), arguments, TempDir::new()?),
            port,
            _admin_port: admin_port,
            _peer_port: place.peer_port,
            admin,
            certificates,
        })
    }

    /// Closes the door behind itself, if `options` say so.
    pub(super) async fn let_in(&mut self, options: &Options) -> io::Result<()> {
        if let Login::Root(password) = &options.login {
            self.admin.let_in_only_root(password).await?;
        }
        self.now_logs_in(options);
        Ok(())
    }

    /// The cluster requires authentication.
    pub(super) fn now_logs_in(&mut self, options: &Options) {
        self.admin.login = options.login.clone();
    }

    /// How it is logged in to.
    pub(super) fn login(&self) -> &Login {
        &self.admin.login
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

    /// Calls a path of the JSON gateway, such as `/v3/kv/range`, with all permissions.
    ///
    /// # Errors
    ///
    /// When it does not answer within 10 s, or refuses.
    pub async fn call(&self, path: &str, request: &Value) -> io::Result<Value> {
        self.admin.call(path, request).await
    }

    /// The value of a counter, such as `etcd_debugging_mvcc_events_total`.
    ///
    /// # Errors
    ///
    /// When it does not answer, or has none of that name.
    pub async fn metric(&self, name: &str) -> io::Result<f64> {
        self.admin.metric(name).await
    }

    /// The sum of a counter over all its labels, such as `grpc_server_msg_received_total`; 0 if it has none.
    ///
    /// # Errors
    ///
    /// When there is no answer within 10 s.
    pub async fn metric_sum(&self, name: &str) -> io::Result<f64> {
        self.metric_sum_of(name, "").await
    }

    /// As [`metric_sum`](Self::metric_sum), over the labels that have `part`, such as `grpc_method="Compact"`.
    ///
    /// # Errors
    ///
    /// When there is no answer within 10 s.
    pub async fn metric_sum_of(&self, name: &str, part: &str) -> io::Result<f64> {
        self.admin.metric_sum(name, part).await
    }

    /// Whether it leads the cluster, in its own opinion; fails while it knows no leader.
    ///
    /// # Errors
    ///
    /// When it does not answer, or knows no leader.
    pub async fn leads(&self) -> io::Result<bool> {
        let status = self.call("/v3/maintenance/status", &json!({})).await?;
        match (&status["leader"], &status["header"]["member_id"]) {
            (Value::String(leader), member) if leader != "0" => {
                Ok(Some(leader.as_str()) == member.as_str())
            }
            _ => Err(io::Error::other("it knows no leader")),
        }
    }

    /// Starts it on the same ports and data after it ended, and waits until it knows a leader.
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
        let ready = || async {
            // Linearizable: only a member that has a leader answers.
            let request = json!({"key": "eA=="});
            admin.call("/v3/kv/range", &request).await.map(drop)
        };
        self.process.start(ready).await
    }
}
