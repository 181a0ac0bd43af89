//! Another client of etcd, which shares locks with dlock.

use std::time::Duration;

use dlock_servers::{
    clients::{Client, Peer},
    etcd::Node,
};
use dlock_verify::support::hold_and_die;

use crate::support::{Flavour, Outcome, connect, start, take};

/// The ttl of a holder that dies.
pub(crate) const TTL: Duration = Duration::from_secs(2);

/// A ttl that no case lives to see the end of.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// A client, and the settings with which dlock has the same locks.
pub(crate) struct Foreign {
    pub(crate) client: Client,
    pub(crate) settings: &'static str,
}

impl Foreign {
    pub(crate) async fn start(&self, node: &Node, ttl: Duration) -> Outcome<Peer> {
        Ok(self.client.start(node.address(), ttl, &[]).await?)
    }

    /// The client waits for dlock's release, and for the end of a dead holder. `queued` returns once the client waits,
    /// where the store shows that.
    pub(crate) async fn waits_for_dlock(
        &self,
        flavour: Flavour,
        queued: impl AsyncFn(&Node) -> Outcome,
    ) -> Outcome {
        let node = start(flavour).await?;
        let locker = connect(node.address(), self.settings).await?;
        let mut peer = self.start(&node, LONG).await?;
        let held = take(&locker, "job").await?;
        peer.request("try job", "taken").await?;
        peer.say("acquire job").await?;
        queued(&node).await?;
        held.renew().await?;
        held.release().await?;
        peer.expect("acquired").await?;
        assert!(locker.try_acquire("job").await?.is_none());
        peer.request("release job", "released").await?;
        let (address, settings, ttl) = (node.address(), self.settings, TTL.as_secs());
        let url = format!("etcd://{address}?{settings}&ttl={ttl}s");
        let connect = async move { Ok(dlock::connect(url.as_str()).await?) };
        hold_and_die(connect, "job").await?;
        peer.request("try job", "taken").await?;
        Ok(peer.request("acquire job", "acquired").await?)
    }
}
