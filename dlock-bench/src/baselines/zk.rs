//! ZooKeeper: an ephemeral sequential node made and deleted by the driver, over one session.

use dlock::config::BackendUrl;
use dlock_core::{Error, ErrorKind, Result, backend::async_trait};
use zookeeper_client::{Acls, Client, CreateMode, CreateOptions, Error as ZkError};

use super::floor::{Floor, Server};
use crate::{report::Baseline, workload::Cycle};

/// dlock-zk's own default prefix: a login may be limited to it.
const PREFIX: &str = "dlock";

/// A value as long as dlock-zk's line of a holder.
const DATA: &[u8] = &[b'0'; 64];

/// One session, shared by all tasks.
pub(crate) struct ZkFloor {
    client: Client,
    /// The path, with a slash before each part.
    prefix: String,
    acls: Acls<'static>,
}

impl ZkFloor {
    pub(crate) async fn connect(url: &BackendUrl) -> Result<Self> {
        let hosts = url.hosts().iter().map(|host| match host.port {
            Some(_) => host.to_string(),
            None => format!("{host}:2181"),
        });
        let chroot = url.path().trim_end_matches('/');
        let cluster = format!("{}{chroot}", hosts.collect::<Vec<_>>().join(","));
        let mut connector = Client::connector();
        let mut acls = Acls::anyone_all();
        if let (Some(user), Some(password)) = (url.user(), url.password()) {
            let login = format!("{user}:{}", password.expose());
            connector = connector.with_auth("digest", login.as_bytes());
            acls = Acls::creator_all();
        }
        let prefix = url.param("prefix").unwrap_or(PREFIX).trim_matches('/');
        let prefix = match prefix {
            "" => String::new(),
            prefix => format!("/{prefix}"),
        };
        Ok(Self {
            client: connector.connect(&cluster).await.map_err(failed)?,
            prefix,
            acls,
        })
    }
}

impl Floor for ZkFloor {
    fn what(&self) -> &'static str {
        "create and delete of an ephemeral sequential node by the driver alone"
    }

    fn task(&self, name: &str) -> Box<dyn Cycle> {
        let directory = format!("{}/{}", self.prefix, name.replace('/', "%2F"));
        Box::new(ZkTask {
            client: self.client.clone(),
            stem: format!("{directory}/_c_00000000-0000-0000-0000-000000000000-lock-"),
            directory,
            options: CreateMode::EphemeralSequential.with_acls(self.acls),
            container: CreateMode::Container.with_acls(self.acls),
        })
    }

    fn server(&self) -> Option<&dyn Server> {
        Some(self)
    }
}

struct ZkTask {
    client: Client,
    directory: String,
    stem: String,
    options: CreateOptions<'static>,
    container: CreateOptions<'static>,
}

#[async_trait]
impl Cycle for ZkTask {
    async fn cycle(&mut self) -> Result<()> {
        let made = match self.client.create(&self.stem, DATA, &self.options).await {
            Err(ZkError::NoNode) => {
                let made = self.client.create(&self.directory, &[], &self.container);
                made.await.map_err(failed)?;
                self.client.create(&self.stem, DATA, &self.options).await
            }
            made => made,
        };
        let (_, sequence) = made.map_err(failed)?;
        let node = format!("{}{sequence}", self.stem);
        self.client.delete(&node, None).await.map_err(failed)
    }
}

#[async_trait]
impl Server for ZkFloor {
    fn unit(&self) -> &'static str {
        Baseline::WRITE
    }

    async fn round_trip(&self) -> Result<()> {
        // No lock's directory has such a name.
        let node = format!("{}/%bench", self.prefix);
        match self.client.set_data(&node, DATA, None).await {
            Err(ZkError::NoNode) => {
                let options = CreateMode::Ephemeral.with_acls(self.acls);
                let made = self.client.create(&node, DATA, &options).await;
                made.map(drop).map_err(failed)
            }
            set => set.map(drop).map_err(failed),
        }
    }

    async fn cpu_time(&self) -> Result<Option<std::time::Duration>> {
        Ok(None)
    }
}

fn failed(error: ZkError) -> Error {
    Error::new(ErrorKind::Unavailable, "the driver of the floor failed").with_source(error)
}
