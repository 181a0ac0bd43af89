//! Faults of a server process.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_verify::{
    chaos::{Fault, Site},
    support::Outcome,
};

use crate::servers::{Order, Servers};

pub(super) fn all<S: Servers>(servers: &Arc<S>) -> Vec<Arc<dyn Fault>> {
    let faults = [
        ("server-kill", Order::Kill, Order::Start),
        ("server-terminate", Order::Terminate, Order::Start),
        ("server-stop", Order::Stop, Order::Continue),
    ];
    let faults = faults.into_iter().map(|(id, begin, end)| {
        let servers = servers.clone();
        Arc::new(ServerFault {
            id,
            begin,
            end,
            servers,
        }) as _
    });
    faults.collect()
}

/// One order at the begin, another one at the end; of a server that the card chooses.
struct ServerFault<S> {
    id: &'static str,
    begin: Order,
    end: Order,
    servers: Arc<S>,
}

#[async_trait]
impl<S: Servers> Fault for ServerFault<S> {
    fn id(&self) -> &'static str {
        self.id
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let server = site.choose(self.servers.count());
        self.servers.order(server, self.begin).await?;
        site.last().await;
        self.servers.order(server, self.end).await?;
        Ok(0)
    }
}
