//! `format=redisson`: replies that are lost, and a wait that is cancelled.

use std::{future::IntoFuture, time::Duration};

use dlock::{Effect, ErrorKind, Guard, Locker};
use dlock_servers::{Program, redis::Node};
use dlock_verify::proxy::{Direction::ToClient, Fault, Faults, Proxy};

use crate::{
    redisson::{REDISSON, THEIRS, fields, is_of, set_theirs, until_clean, until_listeners},
    support::{Outcome, RACES, cases, connect, locks, refused, soon, start, take},
};

cases![
    t01_lost_reply_of_an_acquire_beside_redisson,
    t01_no_reply_ever_beside_redisson_is_undone,
    k07_a_cancelled_wait_beside_redisson_leaves_nothing,
];

/// A client behind a proxy.
struct Proxied {
    node: Node,
    proxy: Proxy,
    locker: Locker,
}

impl Proxied {
    async fn new(program: &Program) -> Outcome<Self> {
        let node = start(program, &[]).await?;
        let proxy = Proxy::start(node.address())?;
        let locker = connect(proxy.address(), REDISSON).await?;
        take(&locker, "warm").await?.release().await?;
        Ok(Self {
            node,
            proxy,
            locker,
        })
    }

    /// Runs an acquire whose first reply is lost. It must come back with the grant that was lost.
    async fn lose_reply(
        &self,
        acquire: impl IntoFuture<Output = dlock::Result<Guard>>,
    ) -> Outcome<Guard> {
        let next = self.proxy.accepted();
        let last = self.proxy.connections().pop().ok_or("no connection")?;
        self.proxy.set_next(Faults::both(Fault::Hold));
        last.set(ToClient, Fault::CutInstead);
        let first = async {
            last.until_ended().await;
            let first = fields(&self.node, "a").await?;
            self.proxy.connection(next).await.set_both(Fault::None);
            Outcome::Ok(first)
        };
        let both = async { tokio::join!(acquire.into_future(), first) };
        let (guard, first) = soon("the reply is lost and found", both).await?;
        let (guard, first) = (guard?, first?);
        assert!(is_of(&first, &guard), "{first:?}");
        assert_eq!(fields(&self.node, "a").await?, first);
        Ok(guard)
    }
}

async fn t01_lost_reply_of_an_acquire_beside_redisson(program: Program) -> Outcome {
    let client = Proxied::new(&program).await?;
    let mut last = 0;
    for _ in 0..RACES / 2 {
        let tried = async {
            let guard = client.locker.try_acquire("a").await?;
            guard.ok_or_else(dlock::Error::contended)
        };
        let guard = client.lose_reply(tried).await?;
        assert!(guard.token().get() > last);
        guard.release().await?;
        let guard = client.lose_reply(client.locker.acquire("a")).await?;
        last = guard.token().get();
        guard.release().await?;
    }
    until_clean(&client.node).await
}

async fn t01_no_reply_ever_beside_redisson_is_undone(program: Program) -> Outcome {
    let client = Proxied::new(&program).await?;
    let last = client.proxy.connections().pop().ok_or("no connection")?;
    client.proxy.set(ToClient, Fault::CutInstead);
    let heal = async {
        last.until_ended().await;
        assert_eq!(locks(&client.node).await?, ["a"], "it was granted");
        // Long enough that it has given up trying.
        client.proxy.connection(client.proxy.accepted() + 5).await;
        client.proxy.set(ToClient, Fault::None);
        Outcome::Ok(())
    };
    let both = async { tokio::join!(client.locker.try_acquire("a"), heal) };
    let (answer, healed) = soon("it ends", both).await?;
    healed?;
    let error = refused(answer)?;
    assert_eq!(
        (error.kind(), error.effect()),
        (ErrorKind::Unavailable, Effect::Unknown)
    );
    until_clean(&client.node).await
}

async fn k07_a_cancelled_wait_beside_redisson_leaves_nothing(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    set_theirs(&node, "a").await?;
    for _ in 0..5 {
        let waiter = tokio::spawn(locker.acquire("a").into_future());
        until_listeners(&node, "a", 1).await?;
        waiter.abort();
        until_listeners(&node, "a", 0).await?;
        let wait = locker.acquire("a").wait(Duration::from_millis(300));
        assert_eq!(refused(wait.await)?.kind(), ErrorKind::Contended);
    }
    assert_eq!(fields(&node, "a").await?, [THEIRS, "1"]);
    node.command(&["DEL", "a"]).await?;
    take(&locker, "a").await?.release().await?;
    until_clean(&node).await
}
