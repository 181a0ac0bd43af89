//! ZooKeeper: an ephemeral sequential node made and deleted by the driver, over one session.

use dlock_core::{
    Error, ErrorKind, Result,
    backend::async_trait,
    config::{Config, Settings},
};
use zookeeper_client::{Acls, Client, CreateMode, CreateOptions, Error as ZkError};

use super::floor::{Cycle, Floor, NewName, Server, Usage, WRITE};
use crate::driver::zk::Servers;

/// dlock-zk's own default prefix: a login may be limited to it.
const PREFIX: &str = "dlock";

/// A value as long as dlock-zk's line of a holder.
const DATA: &[u8] = &[b'0'; 64];

/// One session, shared by all tasks.
pub(crate) struct ZkFloor {
    client: Client,
    /// The server that is read; the session may be at another one.
    servers: Servers,
    /// The path, with a slash before each part.
    prefix: String,
    acls: Acls<'static>,
}

impl ZkFloor {
    pub(crate) async fn connect(config: &Config) -> Result<Self> {
        let mut settings = Settings::of(config)?;
        let prefix = settings.take_prefix()?;
        let prefix = prefix.as_deref().unwrap_or(PREFIX).trim_matches('/');
        let prefix = match prefix {
            "" => String::new(),
            prefix => format!("/{prefix}"),
        };
        let chroot = settings.take_path().unwrap_or_default();
        let servers = Servers::take(&mut settings)?;
        let acls = match servers.has_login() {
            true => Acls::creator_all(),
            false => Acls::anyone_all(),
        };
        Ok(Self {
            client: servers.connect(chroot.trim_end_matches('/')).await?,
            servers,
            prefix,
            acls,
        })
    }
}

#[async_trait]
impl Floor for ZkFloor {
    fn what(&self) -> &'static str {
        "create and delete of an ephemeral sequential node by the driver alone"
    }

    fn task(&self, name: &str) -> Box<dyn Cycle> {
        let directory = directory_of(&self.prefix, name);
        Box::new(ZkTask {
            stem: stem_of(&directory),
            directory,
            nodes: self.nodes(),
        })
    }

    fn what_new(&self) -> &'static str {
        "create of a container, create and delete of an ephemeral sequential node by the driver alone"
    }

    fn new_names(&self) -> Box<dyn NewName> {
        Box::new(ZkNewName {
            nodes: self.nodes(),
            prefix: self.prefix.clone(),
        })
    }

    fn server(&self) -> Option<&dyn Server> {
        Some(self)
    }

    /// Deletes the node of the exchanges: the session may outlive this program.
    async fn close(&self) -> Result<()> {
        match self.client.delete(&self.exchanged(), None).await {
            Ok(()) | Err(ZkError::NoNode) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }
}

struct ZkTask {
    nodes: Nodes,
    directory: String,
    stem: String,
}

#[async_trait]
impl Cycle for ZkTask {
    async fn cycle(&mut self) -> Result<()> {
        let made = match self.nodes.create(&self.stem).await {
            Err(ZkError::NoNode) => {
                self.nodes.create_container(&self.directory).await?;
                self.nodes.create(&self.stem).await
            }
            made => made,
        };
        self.nodes.delete(&made.map_err(failed)?).await
    }
}

struct ZkNewName {
    nodes: Nodes,
    prefix: String,
}

#[async_trait]
impl NewName for ZkNewName {
    async fn cycle(&mut self, name: &str) -> Result<()> {
        let directory = directory_of(&self.prefix, name);
        self.nodes.create_container(&directory).await?;
        let made = self.nodes.create(&stem_of(&directory)).await;
        self.nodes.delete(&made.map_err(failed)?).await
    }
}

/// The session, and how its nodes are made.
struct Nodes {
    client: Client,
    options: CreateOptions<'static>,
    container: CreateOptions<'static>,
}

impl Nodes {
    /// Creates a node whose path begins with `stem`, and returns its path.
    async fn create(&self, stem: &str) -> Result<String, ZkError> {
        let (_, sequence) = self.client.create(stem, DATA, &self.options).await?;
        Ok(format!("{stem}{sequence}"))
    }

    async fn create_container(&self, directory: &str) -> Result<()> {
        let made = self.client.create(directory, &[], &self.container).await;
        made.map(drop).map_err(failed)
    }

    async fn delete(&self, node: &str) -> Result<()> {
        self.client.delete(node, None).await.map_err(failed)
    }
}

/// The directory of a lock.
fn directory_of(prefix: &str, name: &str) -> String {
    format!("{prefix}/{}", name.replace('/', "%2F"))
}

/// The begin of the paths of the nodes in it.
fn stem_of(directory: &str) -> String {
    format!("{directory}/_c_00000000-0000-0000-0000-000000000000-lock-")
}

#[async_trait]
impl Server for ZkFloor {
    fn unit(&self) -> &'static str {
        WRITE
    }

    async fn round_trip(&self) -> Result<()> {
        let node = self.exchanged();
        match self.client.set_data(&node, DATA, None).await {
            Err(ZkError::NoNode) => {
                let options = CreateMode::Ephemeral.with_acls(self.acls);
                let made = self.client.create(&node, DATA, &options).await;
                made.map(drop).map_err(failed)
            }
            set => set.map(drop).map_err(failed),
        }
    }

    async fn version(&self) -> Result<Option<String>> {
        let status = self.word("srvr").await;
        Ok(status.and_then(|status| version(&status)))
    }

    async fn usage(&self) -> Result<Usage> {
        let number = |text: Option<&str>| text.and_then(|text| text.trim().parse().ok());
        let (status, numbers) = (self.word("srvr").await, self.word("mntr").await);
        let requests = status.as_deref().and_then(|text| line(text, "Received:"));
        let bytes = numbers
            .as_deref()
            .and_then(|text| line(text, "zk_approximate_data_size"));
        Ok(Usage {
            requests: number(requests),
            bytes: number(bytes),
        })
    }
}

impl ZkFloor {
    /// The node that exchanges write to. No lock's directory has such a name.
    fn exchanged(&self) -> String {
        format!("{}/%bench", self.prefix)
    }

    fn nodes(&self) -> Nodes {
        Nodes {
            client: self.client.clone(),
            options: CreateMode::EphemeralSequential.with_acls(self.acls),
            container: CreateMode::Container.with_acls(self.acls),
        }
    }

    /// The answer to a four-letter word; `None` if the server does not allow it. By default it allows `srvr`.
    async fn word(&self, word: &str) -> Option<String> {
        let server = self.servers.addresses.first()?;
        self.servers.command(server, word).await.ok()
    }
}

/// The rest of the line that begins with `begin`.
fn line<'a>(text: &'a str, begin: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(begin))
}

fn version(status: &str) -> Option<String> {
    let version = line(status, "Zookeeper version: ")?;
    let number = version.split(['-', ',']).next()?;
    Some(format!("ZooKeeper {number}"))
}

fn failed(error: ZkError) -> Error {
    Error::new(ErrorKind::Unavailable, "the store's driver failed").with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_has_no_build() {
        let status = "Zookeeper version: 3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on \
                      2022-02-25\nLatency min/avg/max: 0/0.0/0\nReceived: 3\n";
        assert_eq!(version(status).as_deref(), Some("ZooKeeper 3.8.0"));
        assert_eq!(line(status, "Received:"), Some(" 3"));
        assert_eq!(version("srvr is not executed"), None);
    }
}
