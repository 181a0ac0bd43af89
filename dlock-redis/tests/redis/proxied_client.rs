//! A client behind a proxy that loses requests and replies.

use dlock::{Guard, Locker};
use dlock_servers::{Program, redis::Node};
use dlock_verify::proxy::{
    Connection,
    Direction::{ToClient, ToServer},
    Fault, Faults, Proxy,
};

use crate::support::{Outcome, connect, soon, start, value, warm_up};

/// A client behind a proxy, and its connection for requests.
pub(crate) struct ProxiedClient {
    pub(crate) node: Node,
    pub(crate) proxy: Proxy,
    pub(crate) locker: Locker,
}

impl ProxiedClient {
    pub(crate) async fn new(program: &Program) -> Outcome<Self> {
        let node = start(program, &[]).await?;
        let proxy = Proxy::start(node.address())?;
        let locker = connect(proxy.address(), "").await?;
        warm_up(&locker).await?;
        Ok(Self {
            node,
            proxy,
            locker,
        })
    }

    /// The newest connection.
    pub(crate) fn last(&self) -> Outcome<Connection> {
        let last = self.proxy.connections().pop();
        last.ok_or_else(|| "no connection".into())
    }

    /// Cuts the newest connection when the next request is sent, which never arrives.
    pub(crate) fn lose_request(&self) -> Outcome<Connection> {
        let last = self.last()?;
        last.set(ToServer, Fault::CutInstead);
        Ok(last)
    }

    /// Runs an acquire of `a` of which the first reply on `line` is lost; it must come back with the
    /// very grant that was lost.
    pub(crate) async fn lose_reply(
        &self,
        proxied: &Connection,
        acquire: impl IntoFuture<Output = dlock::Result<Guard>>,
    ) -> Outcome<Guard> {
        let next = self.proxy.accepted();
        self.proxy.set_next(Faults::both(Fault::Hold));
        proxied.set(ToClient, Fault::CutInstead);
        let first = async {
            proxied.until_ended().await;
            let first = value(&self.node, "a").await?.ok_or("it was not granted")?;
            self.proxy.connection(next).await.set_both(Fault::None);
            Outcome::Ok(first)
        };
        let both = async { tokio::join!(acquire.into_future(), first) };
        let (guard, first) = soon("the reply is lost and found", both).await?;
        let (guard, first) = (guard?, first?);
        let token = format!("{} {} ", guard.id(), guard.token());
        assert!(first.starts_with(&token), "{token} but first {first}");
        assert_eq!(value(&self.node, "a").await?, Some(first));
        assert!(guard.is_held());
        Ok(guard)
    }
}
