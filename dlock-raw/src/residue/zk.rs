//! ZooKeeper: a lock is a directory with the nodes of its queue.

use std::{fmt::Write as _, time::Duration};

use dlock_core::{
    LockName, Result,
    backend::async_trait,
    config::{Config, Settings},
};
use tokio::time::timeout;
use zookeeper_client::{Client, Error as ZkError};

use super::left::{InUse, Kind, Left, Store, unescaped};
use crate::driver::zk::{Servers, failed};

/// dlock-zk's own default.
const PREFIX: &str = "dlock";

/// dlock's own nodes under the prefix.
const OWN: [&str; 3] = ["%alive", "%layout", "%migration"];

/// How long the driver may take to end a session.
const CLOSE_MAX: Duration = Duration::from_secs(2);

/// A session.
pub(super) struct ZooKeeper {
    client: Client,
    /// The path above all locks, with a slash before each part.
    prefix: String,
}

impl ZooKeeper {
    pub(super) async fn open(config: &Config) -> Result<Self> {
        let mut settings = Settings::of(config)?;
        let prefix = settings.take_prefix()?;
        let prefix = prefix.as_deref().unwrap_or(PREFIX).trim_matches('/');
        let prefix = match prefix {
            "" => String::new(),
            prefix => format!("/{prefix}"),
        };
        let chroot = settings.take_path().unwrap_or_default();
        let client = Servers::take(&mut settings)?
            .connect(chroot.trim_end_matches('/'))
            .await?;
        Ok(Self { client, prefix })
    }
}

impl ZooKeeper {
    /// The names of the children; `None` if there is no such node.
    async fn children_of(&self, node: &str) -> Result<Option<Vec<String>>> {
        match self.client.list_children(node).await {
            Err(ZkError::NoNode) => Ok(None),
            children => children.map(Some).map_err(failed),
        }
    }
}

#[async_trait]
impl Store for ZooKeeper {
    async fn list(&self, name: &LockName) -> Result<Vec<Left>> {
        let directory = format!(
            "{}/{}",
            self.prefix,
            escape(name.as_str(), self.prefix.is_empty())
        );
        let Some(children) = self.children_of(&directory).await? else {
            return Ok(Vec::new());
        };
        let nodes = children.iter().map(|child| format!("{directory}/{child}"));
        let mut left: Vec<_> = nodes
            .map(|node| Left::new(name, node, Kind::Lock))
            .collect();
        left.push(Left::new(name, directory.clone(), Kind::Kept));
        Ok(left)
    }

    async fn in_use(&self, max: usize) -> Result<Vec<InUse>> {
        let top = match self.prefix.as_str() {
            "" => "/",
            prefix => prefix,
        };
        let mut places = Vec::new();
        for directory in self.children_of(top).await?.unwrap_or_default() {
            if is_own(&directory, self.prefix.is_empty()) {
                continue;
            }
            let name = unescaped(&directory);
            let directory = format!("{}/{directory}", self.prefix);
            let nodes = self.children_of(&directory).await?.unwrap_or_default();
            let attempts = nodes.iter().filter(|node| is_attempt(node));
            places.extend(attempts.map(|node| InUse::new(format!("{directory}/{node}"), &name)));
            if places.len() >= max {
                places.truncate(max);
                break;
            }
        }
        Ok(places)
    }

    async fn remove(&self, left: &Left) -> Result<bool> {
        match self.client.delete(&left.place, None).await {
            Ok(()) => Ok(true),
            // It is gone, or another process uses the directory.
            Err(ZkError::NoNode | ZkError::NotEmpty) => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    async fn close(self: Box<Self>) {
        let mut states = self.client.state_watcher();
        // The driver ends the session with its last client.
        drop(self);
        let closed = async { while !states.changed().await.is_terminated() {} };
        // Without an answer the session ends by its time-out.
        let _ = timeout(CLOSE_MAX, closed).await;
    }
}

/// Whether a directory is no lock's, but dlock's own or the server's.
fn is_own(directory: &str, is_top: bool) -> bool {
    OWN.contains(&directory) || (is_top && directory == "zookeeper")
}

/// Whether a node is one of a queue: with the mark of Curator or kazoo, and a sequence number.
fn is_attempt(node: &str) -> bool {
    let is_sequence =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    ["-lock-", "__lock__"].iter().any(|mark| {
        node.rsplit_once(mark)
            .is_some_and(|(_, end)| is_sequence(end))
    })
}

/// As dlock-zk escapes names.
fn escape(name: &str, is_top: bool) -> String {
    // Relative paths, and the directory of the server itself.
    let whole = matches!(name, "." | "..") || (is_top && name == "zookeeper");
    let mut escaped = String::with_capacity(name.len());
    let mut bytes = [0; 4];
    for (at, c) in name.chars().enumerate() {
        let is_forbidden = matches!(c, '/' | '%' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..);
        if is_forbidden || (whole && (at == 0 || c == '.')) {
            for byte in c.encode_utf8(&mut bytes).bytes() {
                // Writing to a string does not fail.
                let _ = write!(escaped, "%{byte:02X}");
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}
