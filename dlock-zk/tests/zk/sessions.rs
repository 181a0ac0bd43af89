//! The session: its end, and another one in its place (T44, K8).

use std::{io, net::SocketAddr, time::Duration};

use dlock::{ErrorKind, Guard, Locker, LostCause};
use dlock_servers::zk::Java;
use dlock_verify::proxy::{End, Fault, Proxy};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};
use zookeeper_client::Client;

use crate::support::{
    LONG, Outcome, PROXIED_SESSION, SESSION, SHORT, SOON, cases, connect, driver, queue, refused,
    soon, start, take, until_queue, within,
};

cases![
    t44_a_session_that_ends_is_reported_at_once,
    t44_a_hold_is_over_before_its_silent_session,
    t44_a_waiter_outlives_its_session,
    t44_a_session_that_is_silently_replaced_is_over,
    t44_a_node_of_a_session_that_is_silently_replaced_is_no_grant,
    t44_a_removed_node_is_reported_at_once,
    t44_a_removed_waiter_queues_again,
    k13_many_locks_outlive_a_lost_connection,
];

/// How long a hold may still call itself held after the end of its session. The driver needs a new connection to see it.
const REPORTED_MAX: Duration = Duration::from_secs(5);

/// A client's first request: length, version, last transaction, time-out, session, password, read-only.
const CONNECT_BYTES: usize = 49;

/// Where the session's id and password are in it.
const SESSION_ID: std::ops::Range<usize> = 20..28;

/// The request that ends the session: length, number of the request, and kind.
const CLOSE_SESSION: [u8; 12] = [0, 0, 0, 8, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xf5];

/// A relay to a server. The connection over it can be cut.
struct Relay {
    address: SocketAddr,
    cut: watch::Sender<()>,
    relay: JoinHandle<io::Result<()>>,
}

/// The fate of the session whose connection is cut.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// The server has ended it before the client is cut off.
    Ended,
    /// The server gives a new session where the old one is requested, without an error, as some do.
    Replaced,
}

impl Relay {
    async fn start(server: SocketAddr, fate: Fate) -> Outcome<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (cut, mut is_cut) = watch::channel(());
        let relay: JoinHandle<io::Result<()>> = tokio::spawn(async move {
            loop {
                let (mut client, _) = listener.accept().await?;
                let mut server = TcpStream::connect(server).await?;
                let mut request = [0; CONNECT_BYTES];
                client.read_exact(&mut request).await?;
                if fate == Fate::Replaced {
                    request[SESSION_ID].fill(0);
                }
                server.write_all(&request).await?;
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut client, &mut server) => continue,
                    _ = is_cut.changed() => {}
                }
                if fate == Fate::Ended {
                    server.write_all(&CLOSE_SESSION).await?;
                    // The server ends the connection after the session.
                    tokio::io::copy(&mut server, &mut tokio::io::sink()).await?;
                }
            }
        });
        Ok(Self {
            address,
            cut,
            relay,
        })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.relay.abort();
    }
}

/// The deadline is far, and the nodes of the session are gone.
async fn t44_a_session_that_ends_is_reported_at_once(java: Java) -> Outcome {
    let node = start(&java).await?;
    let relay = Relay::start(node.address(), Fate::Ended).await?;
    let locker = connect(relay.address, LONG).await?;
    let guard = take(&locker, "a").await?;
    let (lost, remaining) = (guard.lost(), guard.remaining());
    assert!(remaining > 2 * REPORTED_MAX, "{remaining:?}");
    relay.cut.send(())?;
    let cause = within(REPORTED_MAX, "the loss", lost).await?;
    assert_eq!(cause, LostCause::SessionEnded);
    assert!(!guard.is_held());
    assert_goes_on(&locker, guard).await
}

async fn t44_a_hold_is_over_before_its_silent_session(java: Java) -> Outcome {
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), SHORT).await?;
    let guard = take(&locker, "a").await?;
    let driver = driver(node.address()).await?;
    silence_until_queue(&proxy, &driver, 0).await?;
    assert!(!guard.is_held());
    end_silence(&proxy);
    assert_goes_on(&locker, guard).await
}

/// A new session takes the lock that `lost` had, and works.
async fn assert_goes_on(locker: &Locker, lost: Guard) -> Outcome {
    let again = soon("a new session", locker.acquire("a")).await??;
    assert!(again.token() > lost.token());
    assert_eq!(refused(lost.release().await)?.kind(), ErrorKind::Lost);
    again.renew().await?;
    Ok(again.release().await?)
}

/// Holds back all bytes of the proxy until the server has ended the session over it: then the queue has `length`.
async fn silence_until_queue(proxy: &Proxy, driver: &Client, length: usize) -> Outcome {
    proxy.set_both(Fault::Hold);
    let ended = until_queue(driver, "a", length);
    within(SESSION + SOON, "the session's end", ended).await?
}

/// Lets the client connect again.
fn end_silence(proxy: &Proxy) {
    proxy.end(End::Reset);
    proxy.set_both(Fault::None);
}

async fn t44_a_waiter_outlives_its_session(java: Java) -> Outcome {
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    let (holder, waiter) = (
        connect(node.address(), LONG).await?,
        connect(proxy.address(), SHORT).await?,
    );
    let driver = driver(node.address()).await?;
    let guard = take(&holder, "a").await?;
    let waiting = tokio::spawn(waiter.acquire("a").wait_forever().into_future());
    until_queue(&driver, "a", 2).await?;
    silence_until_queue(&proxy, &driver, 1).await?;
    end_silence(&proxy);
    until_queue(&driver, "a", 2).await?;
    guard.release().await?;
    let waited = soon("the waiter's turn", waiting).await???;
    waited.renew().await?;
    Ok(waited.release().await?)
}

async fn t44_a_session_that_is_silently_replaced_is_over(java: Java) -> Outcome {
    let node = start(&java).await?;
    let relay = Relay::start(node.address(), Fate::Replaced).await?;
    let locker = connect(relay.address, LONG).await?;
    let guard = take(&locker, "a").await?;
    guard.renew().await?;
    relay.cut.send(())?;
    // Its node lives on for a while, and may be written to.
    let cause = within(Duration::from_secs(30), "the loss", guard.lost()).await?;
    assert_eq!(cause, LostCause::SessionEnded);
    Ok(())
}

/// The owner of the node shows that the session was replaced, long before the next heartbeat does.
async fn t44_a_node_of_a_session_that_is_silently_replaced_is_no_grant(java: Java) -> Outcome {
    let node = start(&java).await?;
    let relay = Relay::start(node.address(), Fate::Replaced).await?;
    let locker = connect(relay.address, LONG).await?;
    let guard = take(&locker, "a").await?;
    guard.renew().await?;
    relay.cut.send(())?;
    let next = take(&locker, "b").await?;
    assert!(!guard.is_held(), "granted by a session that was replaced");
    Ok(next.release().await?)
}

async fn t44_a_removed_node_is_reported_at_once(java: Java) -> Outcome {
    let node = start(&java).await?;
    let locker = connect(node.address(), LONG).await?;
    let driver = driver(node.address()).await?;
    let guard = take(&locker, "a").await?;
    guard.renew().await?;
    // Written to is not removed.
    let path = format!("/dlock/a/{}", queue(&driver, "a").await?[0]);
    driver.set_data(&path, b"__REVOKE__", None).await?;
    guard.renew().await?;
    assert!(guard.is_held());
    driver.delete(&path, None).await?;
    let cause = within(Duration::from_secs(2), "the loss", guard.lost()).await?;
    assert_eq!(cause, LostCause::Removed);
    take(&locker, "a").await?.release().await?;
    Ok(())
}

async fn t44_a_removed_waiter_queues_again(java: Java) -> Outcome {
    let node = start(&java).await?;
    let (holder, waiter) = (
        connect(node.address(), LONG).await?,
        connect(node.address(), LONG).await?,
    );
    let driver = driver(node.address()).await?;
    let guard = take(&holder, "a").await?;
    let waiting = tokio::spawn(waiter.acquire("a").wait_forever().into_future());
    until_queue(&driver, "a", 2).await?;
    let mut nodes = queue(&driver, "a").await?;
    nodes.sort_by_key(|node| node.rsplit_once('-').map(|(_, n)| n.to_owned()));
    driver
        .delete(&format!("/dlock/a/{}", nodes[1]), None)
        .await?;
    guard.release().await?;
    let waited = soon("the waiter's turn", waiting).await???;
    waited.renew().await?;
    Ok(waited.release().await?)
}

/// More than a session can have watches for: the driver does not come back when they need two requests. What is not
/// watched is verified periodically.
async fn k13_many_locks_outlive_a_lost_connection(java: Java) -> Outcome {
    const LOCKS: usize = 3_000;
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    // Proofs may be late by a second, as on a machine that is busy with other tests.
    let keys = format!("tick=200ms&session={}s&ttl=30s", PROXIED_SESSION.as_secs());
    let locker = connect(proxy.address(), &keys).await?;
    let mut guards = Vec::new();
    for number in 0..LOCKS {
        guards.push(locker.acquire(format!("lock-{number}")).await?);
    }
    // Each was renewed: it is watched if the budget allows that.
    for guard in &guards {
        guard.renew().await?;
    }
    proxy.end(End::Reset);
    soon("the next connection", proxy.connection(1)).await?;
    for guard in &guards {
        guard.renew().await?;
    }
    let driver = driver(node.address()).await?;
    for number in [0, LOCKS - 1] {
        let nodes = queue(&driver, &format!("lock-{number}")).await?;
        let node = format!("/dlock/lock-{number}/{}", nodes[0]);
        driver.delete(&node, None).await?;
        let lost = within(PROXIED_SESSION + SOON, "the loss", guards[number].lost());
        assert_eq!(lost.await?, LostCause::Removed);
    }
    locker.shutdown(2 * SOON).await?;
    Ok(())
}
