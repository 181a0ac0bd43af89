//! Requests that the server executed, with replies that got lost (T42, T43, T52, K9).

use std::time::Duration;

use dlock::{Guard, Locker};
use dlock_servers::zk::{Ensemble, Java, Node};
use dlock_verify::proxy::{
    Direction::{ToClient, ToServer},
    End, Fault, Faults, Proxy,
};
use zookeeper_client::{Acls, Client, CreateMode};

use crate::support::{
    LONG, Outcome, SOON, cases, changes, connect, driver, queue, quick, soon, start, take,
    until_queue,
};

cases![
    t42_lost_reply_of_a_try_acquire,
    t42_lost_reply_of_a_waiting_acquire,
    t42_lost_reply_found_at_another_server,
    t42_lost_creation_found_before_it_is_done,
    t42_no_reply_ever_leaves_nothing,
    t43_a_node_of_an_older_session_is_not_ours,
    t52_a_release_while_disconnected_is_made_good,
    t52_lost_reply_of_a_release_spares_the_successor,
];

/// How often a race is run.
const ROUNDS: u32 = 20;

/// A client behind a proxy.
struct Proxied {
    node: Node,
    proxy: Proxy,
    locker: Locker,
    driver: Client,
}

impl Proxied {
    async fn new(java: &Java) -> Outcome<Self> {
        let node = start(java).await?;
        let proxy = Proxy::start(node.address())?;
        let locker = connect(proxy.address(), LONG).await?;
        // The directories are there.
        take(&locker, "a").await?.release().await?;
        Ok(Self {
            driver: driver(node.address()).await?,
            node,
            proxy,
            locker,
        })
    }

    /// Runs an acquire of `a` whose reply is lost after the server has made the node.
    async fn lose_reply(
        &self,
        acquire: impl IntoFuture<Output = dlock::Result<Guard>>,
    ) -> Outcome<Guard> {
        let connection = self.proxy.connections().pop().ok_or("no connection")?;
        let next = self.proxy.accepted();
        self.proxy.set_next(Faults::both(Fault::Hold));
        connection.set(ToClient, Fault::CutInstead);
        let first = async {
            connection.until_ended().await;
            until_queue(&self.driver, "a", 1).await?;
            let made = queue(&self.driver, "a").await?;
            self.proxy.connection(next).await.set_both(Fault::None);
            Outcome::Ok(made)
        };
        let both = async { tokio::join!(acquire.into_future(), first) };
        let (guard, made) = soon("the reply is lost and found", both).await?;
        let (guard, made) = (guard?, made?);
        assert_eq!(queue(&self.driver, "a").await?, made, "it is the same node");
        assert_eq!(czxid(&self.driver, &made[0]).await?, guard.token().get());
        assert!(guard.is_held());
        Ok(guard)
    }
}

async fn czxid(driver: &Client, child: &str) -> Outcome<u64> {
    let (_, stat) = driver.get_data(&format!("/dlock/a/{child}")).await?;
    Ok(stat.czxid.try_into()?)
}

async fn t42_lost_reply_of_a_try_acquire(java: Java) -> Outcome {
    let proxied = Proxied::new(&java).await?;
    for _ in 0..ROUNDS {
        let acquire = async {
            let guard = proxied.locker.try_acquire("a").await?;
            guard.ok_or_else(dlock::Error::contended)
        };
        proxied.lose_reply(acquire).await?.release().await?;
    }
    until_queue(&proxied.driver, "a", 0).await
}

async fn t42_lost_reply_of_a_waiting_acquire(java: Java) -> Outcome {
    let proxied = Proxied::new(&java).await?;
    for _ in 0..ROUNDS {
        let guard = proxied.lose_reply(proxied.locker.acquire("a")).await?;
        guard.release().await?;
    }
    until_queue(&proxied.driver, "a", 0).await
}

/// The client goes to a follower that has not heard of the node yet: only `sync` makes it catch up.
async fn t42_lost_reply_found_at_another_server(java: Java) -> Outcome {
    let ensemble = Ensemble::start(&java, &quick()).await?;
    let (leader, behind) = (ensemble.leader().await?, ensemble.follower().await?);
    let proxies = [
        Proxy::start(ensemble.nodes()[leader].address())?,
        Proxy::start(ensemble.nodes()[behind].address())?,
    ];
    let addresses = format!("{},{}", proxies[0].address(), proxies[1].address());
    let driver = driver(ensemble.nodes()[leader].address()).await?;
    for _ in 0..5 {
        let locker = connect(&addresses, LONG).await?;
        take(&locker, "a").await?.release().await?;
        let (first, second) = if proxies[0].passed(ToClient) > 0 && is_open(&proxies[0]) {
            (0, 1)
        } else {
            (1, 0)
        };
        let link = ensemble.link(behind, leader);
        // The leader's news reach the follower late.
        link.set(ToClient, Fault::Delay(Duration::from_millis(300)));
        let connection = proxies[first].connections().pop().ok_or("no connection")?;
        connection.set(ToClient, Fault::CutInstead);
        let acquire = tokio::spawn(locker.acquire("a").into_future());
        soon("the reply is lost", connection.until_ended()).await?;
        let guard = soon("the node is found", acquire).await???;
        link.set(ToClient, Fault::None);
        assert!(proxies[second].accepted() > 0 || proxies[first].accepted() > 1);
        assert_eq!(queue(&driver, "a").await?.len(), 1, "a second node of ours");
        guard.release().await?;
        locker.shutdown(SOON).await?;
        until_queue(&driver, "a", 0).await?;
    }
    Ok(())
}

/// All servers have the creation, and none has written it down when the client reads it from another one:
/// only `sync` waits for that.
async fn t42_lost_creation_found_before_it_is_done(java: Java) -> Outcome {
    const ON_ITS_WAY: Duration = Duration::from_millis(100);
    let mut options = quick();
    // They gather writes for a third of that, if no more come.
    let slow_disk = "zookeeper.flushDelay=2000";
    options.properties.push(slow_disk.to_owned());
    let ensemble = Ensemble::start(&java, &options).await?;
    let leader = ensemble.leader().await?;
    let followers = ensemble.nodes().iter().enumerate();
    let followers = followers.filter(|(index, _)| *index != leader);
    let mut proxies: Vec<Proxy> = followers
        .map(|(_, node)| Proxy::start(node.address()))
        .collect::<Result<_, _>>()?;
    let addresses = format!("{},{}", proxies[0].address(), proxies[1].address());
    let locker = connect(&addresses, LONG).await?;
    soon("the directories", locker.acquire("a"))
        .await??
        .release()
        .await?;
    let driver = driver(ensemble.nodes()[leader].address()).await?;
    until_queue(&driver, "a", 0).await?;
    let before = changes(&driver, "a").await?;
    let first = proxies.swap_remove(usize::from(!is_open(&proxies[0])));
    let connection = first.connections().pop().ok_or("no connection")?;
    let passed = connection.passed(ToServer);
    let acquire = tokio::spawn(locker.acquire("a").into_future());
    connection.until_passed(ToServer, passed + 1).await;
    tokio::time::sleep(ON_ITS_WAY).await;
    drop(first);
    soon("another connection", proxies[0].connection(0)).await?;
    let guard = soon("the node is found", acquire).await???;
    let nodes = queue(&driver, "a").await?;
    assert_eq!(nodes.len(), 1, "a second node of ours");
    // Or the first one was deleted as one that came late.
    let made = changes(&driver, "a").await? - before;
    assert_eq!(made, 1, "a second node of ours");
    assert_eq!(czxid(&driver, &nodes[0]).await?, guard.token().get());
    Ok(guard.release().await?)
}

fn is_open(proxy: &Proxy) -> bool {
    proxy
        .connections()
        .last()
        .is_some_and(|connection| !connection.has_ended())
}

async fn t42_no_reply_ever_leaves_nothing(java: Java) -> Outcome {
    let proxied = Proxied::new(&java).await?;
    for _ in 0..5 {
        let last = proxied.proxy.connections().pop().ok_or("no connection")?;
        proxied.proxy.set(ToClient, Fault::CutInstead);
        let wait = proxied.locker.acquire("a").wait(Duration::from_millis(300));
        let error = crate::support::refused(soon("the wait ends", wait).await?)?;
        assert_eq!(error.kind(), dlock::ErrorKind::Unavailable, "{error}");
        assert!(last.has_ended());
        proxied.proxy.set(ToClient, Fault::None);
        until_queue(&proxied.driver, "a", 0).await?;
        soon("it works again", proxied.locker.acquire("b"))
            .await??
            .release()
            .await?;
    }
    Ok(())
}

/// A node with our GUID that belongs to another session holds nothing for us (Curator-498).
async fn t43_a_node_of_an_older_session_is_not_ours(java: Java) -> Outcome {
    let proxied = Proxied::new(&java).await?;
    let last = proxied.proxy.connections().pop().ok_or("no connection")?;
    let next = proxied.proxy.accepted();
    proxied.proxy.set_next(Faults::both(Fault::Hold));
    last.set(ToClient, Fault::CutInstead);
    let acquire = tokio::spawn(proxied.locker.acquire("a").into_future());
    soon("the reply is lost", last.until_ended()).await?;
    until_queue(&proxied.driver, "a", 1).await?;
    // What it made is replaced by what an older session of it could have left.
    let made = queue(&proxied.driver, "a").await?.remove(0);
    let (stem, _) = made.rsplit_once('-').ok_or("no sequence")?;
    let old = driver(proxied.node.address()).await?;
    let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
    old.create(&format!("/dlock/a/{stem}-"), b"", &options)
        .await?;
    proxied
        .driver
        .delete(&format!("/dlock/a/{made}"), None)
        .await?;
    proxied.proxy.connection(next).await.set_both(Fault::None);
    until_queue(&proxied.driver, "a", 2).await?;
    assert!(
        !acquire.is_finished(),
        "granted by a node of another session"
    );
    drop(old);
    let guard = soon("the old session's end", acquire).await???;
    let queue = queue(&proxied.driver, "a").await?;
    assert_eq!(queue.len(), 1);
    assert_eq!(
        czxid(&proxied.driver, &queue[0]).await?,
        guard.token().get()
    );
    Ok(guard.release().await?)
}

async fn t52_a_release_while_disconnected_is_made_good(java: Java) -> Outcome {
    let proxied = Proxied::new(&java).await?;
    for _ in 0..5 {
        let guard = soon("it is free", proxied.locker.acquire("a")).await??;
        let node = queue(&proxied.driver, "a").await?;
        proxied.proxy.set(ToClient, Fault::Hold);
        proxied.proxy.set(ToServer, Fault::Hold);
        proxied.proxy.end(End::Reset);
        drop(guard);
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(
            queue(&proxied.driver, "a").await?,
            node,
            "no client could delete it"
        );
        proxied.proxy.set(ToClient, Fault::None);
        proxied.proxy.set(ToServer, Fault::None);
        // Far earlier than the session ends.
        until_queue(&proxied.driver, "a", 0).await?;
    }
    Ok(())
}

async fn t52_lost_reply_of_a_release_spares_the_successor(java: Java) -> Outcome {
    let proxied = Proxied::new(&java).await?;
    // With this release the directory is watched: later ones are one request.
    take(&proxied.locker, "a").await?.release().await?;
    let other = connect(proxied.node.address(), LONG).await?;
    for _ in 0..ROUNDS {
        let guard = soon("it is free", proxied.locker.acquire("a")).await??;
        let last = proxied.proxy.connections().pop().ok_or("no connection")?;
        last.set(ToClient, Fault::CutInstead);
        let release = tokio::spawn(guard.release());
        soon("the first release is done", last.until_ended()).await?;
        let successor = take(&other, "a").await?;
        let _ = soon("the release ends", release).await??;
        soon("it is repeated", proxied.locker.acquire("b"))
            .await??
            .release()
            .await?;
        successor.renew().await?;
        successor.release().await?;
    }
    until_queue(&proxied.driver, "a", 0).await
}
