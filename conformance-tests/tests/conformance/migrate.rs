//! `migrate:`, from one store to another, before the switch and after it.

use std::{io, net::SocketAddr};

use async_trait::async_trait;
use conformance_tests::Extra;
use dlock_core::{
    Capabilities, LockName, Result,
    config::{BackendUrl, Config},
};
use dlock_layers::migrate;

use crate::store::{Store, cannot};

/// Above all tokens of dlock's stores.
const TOKEN_BASE: &str = "token_base=9007199254740992";

#[derive(Debug)]
pub(super) struct Migrate<O, N> {
    name: String,
    old: O,
    new: N,
    is_switched: bool,
}

impl<O: Store, N: Store> Migrate<O, N> {
    pub(super) fn new(name: String, old: O, new: N, is_switched: bool) -> Self {
        Self {
            name,
            old,
            new,
            is_switched,
        }
    }
}

#[async_trait]
impl<O: Store, N: Store> Store for Migrate<O, N> {
    type Servers = (O::Servers, N::Servers);

    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        migrate::capabilities(&self.old.capabilities(), &self.new.capabilities())
    }

    fn available(&self) -> Result<(), String> {
        self.old.available()?;
        self.new.available()
    }

    fn extras(&self) -> &[Extra] {
        &[]
    }

    fn lost_locks_stay(&self) -> bool {
        self.old.lost_locks_stay() || self.new.lost_locks_stay()
    }

    async fn start(&self) -> io::Result<Self::Servers> {
        Ok((self.old.start().await?, self.new.start().await?))
    }

    async fn prepare(&self, servers: &Self::Servers, prefix: &str) -> Result<()> {
        self.old.prepare(&servers.0, prefix).await?;
        self.new.prepare(&servers.1, prefix).await?;
        let config = Config::from_url(&self.url(servers, prefix))?;
        let steps = migrate::open_steps(&dlock::registry(), &config).await?;
        steps.start().await?;
        if self.is_switched {
            let closed = steps.close().await?;
            steps.switch_closed(&closed).await?;
        }
        Ok(())
    }

    fn url(&self, (old, new): &Self::Servers, prefix: &str) -> String {
        let new = self.new.url(new, prefix);
        let new = new.replace("prefix=", &format!("{TOKEN_BASE}&prefix="));
        let both = BackendUrl::parse("migrate:").map(|both| {
            both.with_param("from", self.old.url(old, prefix))
                .with_param("to", new)
                .expose()
        });
        both.unwrap_or_default()
    }

    fn server(&self, _: &Self::Servers) -> Option<SocketAddr> {
        None
    }

    fn url_at(&self, servers: &Self::Servers, _: SocketAddr, prefix: &str) -> String {
        self.url(servers, prefix)
    }

    fn separator(&self) -> &'static str {
        self.new.separator()
    }

    async fn remove(
        &self,
        (old, new): &Self::Servers,
        prefix: &str,
        name: &LockName,
    ) -> Result<()> {
        self.old.remove(old, prefix, name).await?;
        self.new.remove(new, prefix, name).await
    }

    async fn residue(&self, (old, new): &Self::Servers, prefix: &str) -> Result<Vec<String>> {
        let mut residue = self.old.residue(old, prefix).await?;
        residue.extend(self.new.residue(new, prefix).await?);
        Ok(residue)
    }

    async fn lose_data(&self, _: &mut Self::Servers, _: &str) -> Result<()> {
        Err(cannot("lose its data"))
    }

    async fn fail_over(&self, _: &mut Self::Servers, _: &str, _: &LockName) -> Result<()> {
        Err(cannot("fail over"))
    }
}
