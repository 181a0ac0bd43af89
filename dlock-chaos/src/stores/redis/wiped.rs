//! A server starts without its data.

use std::{fs, io, path::Path, sync::Arc};

use async_trait::async_trait;
use dlock_verify::{
    chaos::{Fault, Site},
    support::Outcome,
};

use crate::servers::{Order, Servers};

/// Where the append-only file is.
const DATA: &str = "appendonlydir";

/// A server is killed, and starts with an empty disk. dlock grants nothing for a guard then, so an exception covers only
/// tokens, and only behind a clock that was set back.
pub(in crate::stores) struct Wiped<S>(pub(in crate::stores) Arc<S>);

#[async_trait]
impl<S: Servers> Fault for Wiped<S> {
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
        let (servers, server) = (&self.0, site.choose(self.0.count()));
        servers.order(server, Order::Kill).await?;
        site.last().await;
        remove(&servers.directory(server).await.join(DATA))?;
        servers.order(server, Order::Start).await?;
        Ok(0)
    }
}

fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
