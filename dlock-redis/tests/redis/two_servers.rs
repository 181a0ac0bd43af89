//! Two servers at one address that know nothing of each other, where a client can see it.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use dlock::{ErrorKind, LostCause};
use dlock_servers::{Program, redis::Node};
use dlock_verify::proxy::{End, Proxy};

use crate::support::{
    Outcome, acquaint, cases, connect, follow, open, refused, soon, start, start_pair, take, until,
    value, warm_up, within,
};

use dlock_core::toolkit::Lock;

cases![
    two_servers_at_one_address_are_refused,
    wake_ups_from_another_server_are_refused,
    a_failover_at_one_address_is_not_refused,
    a_waiter_follows_the_requests_to_another_server,
    a_restart_that_others_saw_first_is_not_refused,
    t08_a_failover_without_its_guard_is_reported_by_the_next_renewal,
];

/// The time by which a renewal may take longer on a busy machine.
const SLACK: Duration = Duration::from_secs(1);

/// An address whose server can be changed.
struct Address {
    proxy: Proxy,
    leads_to: Arc<Lock<SocketAddr>>,
}

impl Address {
    fn of(node: &Node) -> Outcome<Self> {
        let leads_to = Arc::new(Lock::new(node.address()));
        let at = leads_to.clone();
        let proxy = Proxy::switch(move |_| Some(*at.lock()))?;
        Ok(Self { proxy, leads_to })
    }

    /// Sends new connections to `node`.
    fn lead_to(&self, node: &Node) {
        let mut at = self.leads_to.lock();
        *at = node.address();
    }
}

async fn two_servers_at_one_address_are_refused(program: Program) -> Outcome {
    let (a, b) = (start(&program, &[]).await?, start(&program, &[]).await?);
    acquaint(&a).await?;
    acquaint(&b).await?;
    let address = Address::of(&a)?;
    let locker = connect(address.proxy.address(), "").await?;
    warm_up(&locker).await?;
    address.lead_to(&b);
    address.proxy.end(End::Reset);
    for _ in 0..3 {
        let error = refused(locker.try_acquire("x").await)?;
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("two servers"), "{error}");
    }
    assert_eq!(value(&b, "x").await?, None);
    // The one that it knows is as good as before.
    address.lead_to(&a);
    warm_up(&locker).await
}

async fn wake_ups_from_another_server_are_refused(program: Program) -> Outcome {
    let (a, b) = (start(&program, &[]).await?, start(&program, &[]).await?);
    acquaint(&a).await?;
    let address = Address::of(&a)?;
    let locker = connect(address.proxy.address(), "").await?;
    let holder = connect(a.address(), "").await?;
    let held = take(&holder, "x").await?;
    warm_up(&locker).await?;
    address.lead_to(&b);
    let wait = locker.acquire("x").wait(Duration::from_millis(300));
    let error = refused(wait.await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("one address"), "{error}");
    address.lead_to(&a);
    let waiter = tokio::spawn(locker.acquire("x").into_future());
    crate::support::until_listeners(&a, "x", 1).await?;
    held.release().await?;
    soon("it is woken", waiter).await???.release().await?;
    Ok(())
}

async fn a_failover_at_one_address_is_not_refused(program: Program) -> Outcome {
    let (a, b) = start_pair(&program).await?;
    acquaint(&a).await?;
    let address = Address::of(&a)?;
    let locker = connect(address.proxy.address(), "").await?;
    let held = take(&locker, "x").await?;
    until("it is replicated", async || {
        Ok(value(&b, "x").await?.is_some())
    })
    .await?;
    follow(&b, None).await?;
    // Another client is there first, apparently long before the last reply of the former server.
    warm_up(&connect(b.address(), "").await?).await?;
    let record = b.command(&["GET", crate::support::RECORD]).await?.text()?;
    let mut words: Vec<_> = record.split(' ').map(str::to_owned).collect();
    words[2] = "1780000000000000".to_owned();
    b.command(&["SET", crate::support::RECORD, &words.join(" ")])
        .await?;
    held.renew().await?;
    address.lead_to(&b);
    address.proxy.end(End::Reset);
    warm_up(&locker).await?;
    held.renew().await?;
    Ok(held.release().await?)
}

/// The former primary is up and answers pings, as behind an address that was moved to another machine (K6).
async fn a_waiter_follows_the_requests_to_another_server(program: Program) -> Outcome {
    let (a, b) = start_pair(&program).await?;
    acquaint(&a).await?;
    let address = Address::of(&a)?;
    let (holder, locker) = (
        connect(address.proxy.address(), "").await?,
        connect(address.proxy.address(), "").await?,
    );
    let held = take(&holder, "x").await?;
    warm_up(&locker).await?;
    let requests = address.proxy.connections();
    let waiter = tokio::spawn(locker.acquire("x").into_future());
    crate::support::until_listeners(&a, "x", 1).await?;
    until("it is replicated", async || {
        Ok(value(&b, "x").await?.is_some())
    })
    .await?;
    follow(&b, None).await?;
    address.lead_to(&b);
    for connection in requests {
        connection.end(End::Reset);
    }
    warm_up(&locker).await?;
    held.release().await?;
    let next = soon("it is granted the lock", waiter).await???;
    assert!(value(&b, "x").await?.is_some());
    Ok(next.release().await?)
}

async fn a_restart_that_others_saw_first_is_not_refused(program: Program) -> Outcome {
    let (mut a, address) = {
        let a = start(&program, &[]).await?;
        acquaint(&a).await?;
        let address = Address::of(&a)?;
        (a, address)
    };
    let locker = connect(address.proxy.address(), "").await?;
    warm_up(&locker).await?;
    a.restart().await?;
    warm_up(&connect(a.address(), "").await?).await?;
    warm_up(&locker).await
}

/// The window of `redis.failover-unguarded`: two hold it, and the older one knows within a third of the ttl.
async fn t08_a_failover_without_its_guard_is_reported_by_the_next_renewal(
    program: Program,
) -> Outcome {
    let (a, b) = start_pair(&program).await?;
    acquaint(&a).await?;
    let address = Address::of(&a)?;
    let ttl = Duration::from_secs(9);
    let keys = "restart_guard=9s&failover_guard=0s&ttl=9s";
    until(
        "the replica has the record and is up for long",
        async || {
            let known = b
                .command(&["EXISTS", crate::support::RECORD])
                .await?
                .int()?;
            let up: u64 = b.info("uptime_in_seconds").await?.parse()?;
            Ok(known == 1 && up > 11)
        },
    )
    .await?;
    let holder = open(address.proxy.address(), keys).await?;
    follow(&b, None).await?;
    // The replica never gets it.
    let held = take(&holder, "x").await?;
    address.lead_to(&b);
    address.proxy.end(End::Reset);
    let other = open(b.address(), keys).await?;
    let next = take(&other, "x").await?;
    assert!(next.token() > held.token());
    let cause = within(ttl / 3 + SLACK, "the holder is notified", held.lost()).await?;
    assert_eq!(cause, LostCause::Taken);
    Ok(next.release().await?)
}
