//! A server starts without its data.

use std::{fs, io, path::Path, sync::Arc};

use async_trait::async_trait;
use dlock_servers::redis::Node;
use dlock_verify::{
    chaos::{Fault, Site},
    support::Outcome,
};
use tokio::sync::Mutex;

use crate::servers::{Order, Servers};

/// Where the append-only file is.
const DATA: &str = "appendonlydir";

/// The server is killed, and starts with an empty disk. dlock grants nothing for a guard then, so an exception covers only
/// tokens, and only behind a clock that was set back.
pub(super) struct Wiped(pub(super) Arc<Mutex<Node>>);

#[async_trait]
impl Fault for Wiped {
    fn id(&self) -> &'static str {
        "server-wiped"
    }

    fn lengths(&self) -> &'static [u32] {
        &[2, 11]
    }

    fn alone(&self) -> bool {
        true
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        self.0.order(0, Order::Kill).await?;
        site.last().await;
        remove(&Servers::directory(&*self.0, 0).await.join(DATA))?;
        self.0.order(0, Order::Start).await?;
        Ok(0)
    }
}

fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
