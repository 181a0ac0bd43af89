//! ZooKeeper: a lock is a directory with the nodes of its queue.

use std::{fmt::Write as _, time::Duration};

use dlock_core::{
    LockName, Result,
    backend::async_trait,
    config::{Config, Settings},
};
use tokio::time::timeout;
use zookeeper_client::{Client, Error as ZkError};

use super::left::{Kind, Left, Store};
use crate::driver::zk::{Servers, failed};

/// dlock-zk's own default.
const PREFIX: &str = "dlock";

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

#[async_trait]
impl Store for ZooKeeper {
    async fn list(&self, name: &LockName) -> Result<Vec<Left>> {
        let directory = format!(
            "{}/{}",
            self.prefix,
            escape(name.as_str(), self.prefix.is_empty())
        );
        let children = match self.client.list_children(&directory).await {
            Err(ZkError::NoNode) => return Ok(Vec::new()),
            children => children.map_err(failed)?,
        };
        let nodes = children.iter().map(|child| format!("{directory}/{child}"));
        let mut left: Vec<_> = nodes
            .map(|node| Left::new(name, node, Kind::Lock))
            .collect();
        left.push(Left::new(name, directory.clone(), Kind::Kept));
        Ok(left)
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
