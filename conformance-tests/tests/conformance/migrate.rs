//! `migrate:`, from one store to another, before the switch and after it.

use std::{io, net::SocketAddr, time::Duration};

use async_trait::async_trait;
use conformance_tests::Extra;
use dlock_core::{
    Capabilities, LockName, Result,
    config::{BackendUrl, Config},
};
use dlock_layers::migrate;

use crate::store::{Store, cannot, with_keys};

/// Above all tokens of dlock's stores.
const TOKEN_BASE: &str = "token_base=9007199254740992";

#[derive(Debug)]
pub(super) struct Migrate<O, N> {
    name: String,
    old: O,
    new: N,
    is_switched: bool,
    extras: Vec<Extra>,
}

impl<O: Store, N: Store> Migrate<O, N> {
    pub(super) fn new(name: String, old: O, new: N, is_switched: bool) -> Self {
        // Of the store that counts. A loss of data would take the record, too, and none is granted without it.
        let counts = match is_switched {
            true => new.extras(),
            false => old.extras(),
        };
        let extras = counts.iter().copied();
        let extras = extras
            .filter(|extra| matches!(extra, Extra::Link | Extra::EndSession | Extra::FailOver))
            .collect();
        Self {
            name,
            old,
            new,
            is_switched,
            extras,
        }
    }

    /// The URL of a migration between two stores with URLs.
    fn both(old: String, new: &str) -> String {
        let new = with_keys(new, TOKEN_BASE);
        let both = BackendUrl::parse("migrate:")
            .map(|both| both.with_param("from", old).with_param("to", new).expose());
        both.unwrap_or_default()
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
        &self.extras
    }

    fn lost_locks_stay(&self) -> bool {
        self.old.lost_locks_stay() || self.new.lost_locks_stay()
    }

    async fn start(&self) -> io::Result<Self::Servers> {
        Ok((self.old.start().await?, self.new.start().await?))
    }

    async fn start_alone(&self) -> io::Result<Self::Servers> {
        Ok((self.old.start_alone().await?, self.new.start_alone().await?))
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
        Self::both(self.old.url(old, prefix), &self.new.url(new, prefix))
    }

    fn url_alone(&self, (old, new): &Self::Servers, prefix: &str) -> String {
        Self::both(
            self.old.url_alone(old, prefix),
            &self.new.url_alone(new, prefix),
        )
    }

    fn server(&self, _: &Self::Servers) -> Option<SocketAddr> {
        None
    }

    fn url_at(&self, servers: &Self::Servers, _: SocketAddr, prefix: &str) -> String {
        self.url(servers, prefix)
    }

    fn linked(&self, (old, new): &Self::Servers) -> Vec<SocketAddr> {
        let mut servers = self.old.linked(old);
        servers.extend(self.new.linked(new));
        servers
    }

    fn linked_url(&self, (old, new): &Self::Servers, at: &[SocketAddr], prefix: &str) -> String {
        let (of_old, of_new) = at.split_at(self.old.linked(old).len());
        Self::both(
            self.old.linked_url(old, of_old, prefix),
            &self.new.linked_url(new, of_new, prefix),
        )
    }

    fn client_timeout(&self) -> Duration {
        self.old.client_timeout().max(self.new.client_timeout())
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

    async fn end_session(
        &self,
        (old, new): &Self::Servers,
        prefix: &str,
        name: &LockName,
    ) -> Result<()> {
        match self.is_switched {
            true => self.new.end_session(new, prefix, name).await,
            false => self.old.end_session(old, prefix, name).await,
        }
    }

    async fn lose_data(&self, _: &mut Self::Servers, _: &str) -> Result<()> {
        Err(cannot("lose its data"))
    }

    async fn fail_over(
        &self,
        (old, new): &mut Self::Servers,
        prefix: &str,
        name: &LockName,
    ) -> Result<()> {
        match self.is_switched {
            true => self.new.fail_over(new, prefix, name).await,
            false => self.old.fail_over(old, prefix, name).await,
        }
    }
}
