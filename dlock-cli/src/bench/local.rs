//! The servers that `--local` starts. They end with this value.

use dlock_servers::local::{Files, Kind, Server};
use tokio::task::JoinSet;

use crate::base::{
    exit::{Exit, Failure},
    output,
};

/// The kinds that this program has a driver for.
const KINDS: &[Kind] = &[
    #[cfg(feature = "redis")]
    Kind::Redis,
    #[cfg(feature = "etcd")]
    Kind::Etcd,
    #[cfg(feature = "zk")]
    Kind::Zk,
    #[cfg(feature = "mysql")]
    Kind::MySql,
];

pub(super) struct Servers {
    files: Files,
    servers: Vec<Server>,
}

impl Servers {
    /// Starts all that this machine has, at once, and names the others with their packages.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub(super) async fn start() -> Result<Self, Failure> {
        let files = Files::new().map_err(|error| {
            let why = output::describe(&error);
            Failure::new(Exit::INTERNAL, format!("cannot make a directory: {why}"))
        })?;
        let mut starting = JoinSet::new();
        for (at, kind) in KINDS.iter().copied().enumerate() {
            starting.spawn(async move { (at, kind.start().await) });
        }
        let mut started = starting.join_all().await;
        started.sort_by_key(|(at, _)| *at);
        let mut servers = Vec::new();
        for (_, server) in started {
            match server {
                Ok(server) => servers.push(server),
                Err(missing) => output::say(&missing.to_string()),
            }
        }
        if servers.is_empty() {
            return Err(Failure::usage("--local found no server on this machine"));
        }
        Ok(Self { files, servers })
    }

    /// The URLs of all stores, files among them, and the processes of their servers.
    pub(super) fn stores(&self) -> Vec<(String, Option<u32>)> {
        let servers = self.servers.iter();
        let servers = servers.map(|server| (server.url(), server.pid()));
        std::iter::once((self.files.url(), None))
            .chain(servers)
            .collect()
    }
}
