//! The fault proxy, between a client and a server that echoes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "all of it is a test, helpers included"
)]

use std::{future::Future, io::ErrorKind, num::NonZeroU32, time::Duration};

use dlock_core::Clock;
use dlock_verify::proxy::{
    Connection,
    Direction::{ToClient, ToServer},
    End, Fault, Faults, Proxy,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::timeout,
};

/// The time within which an expected event happens; costs time only where something is wrong.
const SOON: Duration = Duration::from_secs(20);

/// The time after which an event that must not happen has not happened.
const NOT_YET: Duration = Duration::from_millis(100);

/// How a connection of the server ended.
type Ends = UnboundedReceiver<Result<(), ErrorKind>>;

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(SOON, future).await.expect("it takes too long")
}

async fn not_yet<T>(future: impl Future<Output = T>) {
    assert!(timeout(NOT_YET, future).await.is_err(), "it happened");
}

/// A proxy to a server that echoes, and reports how each of its connections ended.
async fn echo() -> (Proxy, Ends) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = Proxy::start(listener.local_addr().unwrap()).unwrap();
    let (ended, ends) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let ended = ended.clone();
            tokio::spawn(async move {
                let (mut from, mut to) = stream.split();
                let copied = tokio::io::copy(&mut from, &mut to).await;
                let _ = ended.send(copied.map(drop).map_err(|error| error.kind()));
            });
        }
    });
    (proxy, ends)
}

/// A client with its connection in the proxy.
async fn connected(proxy: &Proxy) -> (TcpStream, Connection) {
    let index = proxy.accepted();
    let client = TcpStream::connect(proxy.address()).await.unwrap();
    (client, soon(proxy.connection(index)).await)
}

async fn send(client: &mut TcpStream, text: &str) {
    client.write_all(text.as_bytes()).await.unwrap();
}

async fn receive(client: &mut TcpStream, text: &str) {
    let mut received = vec![0; text.len()];
    soon(client.read_exact(&mut received)).await.unwrap();
    assert_eq!(received, text.as_bytes());
}

async fn ping(client: &mut TcpStream) {
    send(client, "ping").await;
    receive(client, "ping").await;
}

#[tokio::test]
async fn it_passes_and_counts() {
    let (proxy, mut ends) = echo().await;
    let (mut client, connection) = connected(&proxy).await;
    let (mut other, _) = connected(&proxy).await;
    ping(&mut client).await;
    ping(&mut other).await;
    for direction in [ToServer, ToClient] {
        soon(connection.until_passed(direction, 4)).await;
        assert_eq!(
            (connection.seen(direction), connection.passed(direction)),
            (4, 4)
        );
        soon(proxy.connections()[1].until_passed(direction, 4)).await;
        assert_eq!((proxy.seen(direction), proxy.passed(direction)), (8, 8));
    }
    assert_eq!((proxy.accepted(), connection.has_ended()), (2, false));
    drop(client);
    assert_eq!(soon(ends.recv()).await, Some(Ok(())));
    soon(connection.until_ended()).await;
}

#[tokio::test]
async fn the_end_of_one_half_is_passed_on_after_what_came_before() {
    let (proxy, _ends) = echo().await;
    let (mut client, connection) = connected(&proxy).await;
    let sent = vec![7; 3_000_000];
    let (mut from, mut to) = client.split();
    let mut received = Vec::new();
    let (read, written) = soon(async {
        tokio::join!(from.read_to_end(&mut received), async {
            to.write_all(&sent).await?;
            to.shutdown().await
        })
    })
    .await;
    written.unwrap();
    assert_eq!(read.unwrap(), sent.len());
    soon(connection.until_ended()).await;
}

#[tokio::test]
async fn a_delay_is_added_once_however_much_is_on_the_way() {
    const DELAY: Duration = Duration::from_millis(500);
    let (proxy, _ends) = echo().await;
    let (mut client, connection) = connected(&proxy).await;
    ping(&mut client).await;
    connection.set(ToClient, Fault::Delay(DELAY));
    let clock = Clock::boottime();
    let start = clock.now();
    for request in 1..=10 {
        send(&mut client, "ping").await;
        soon(connection.until_seen(ToClient, 4 + 4 * request)).await;
    }
    receive(&mut client, "ping").await;
    assert!(clock.now().since(start) >= DELAY);
    // One after the other they would take ten times as long.
    receive(&mut client, &"ping".repeat(9)).await;
    let all = clock.now().since(start);
    assert!(all < DELAY * 8, "{all:?}");
    connection.set(ToClient, Fault::None);
    ping(&mut client).await;
}

#[tokio::test]
async fn a_throttled_direction_is_slow() {
    let (proxy, _ends) = echo().await;
    let (mut client, connection) = connected(&proxy).await;
    connection.set(ToServer, Fault::Throttle(NonZeroU32::new(10_000).unwrap()));
    let clock = Clock::boottime();
    let start = clock.now();
    let text = "x".repeat(4_000);
    send(&mut client, &text).await;
    receive(&mut client, &text).await;
    // The last part's own time comes after it.
    let took = clock.now().since(start);
    assert!(took >= Duration::from_millis(370), "{took:?}");
}

#[tokio::test]
async fn what_is_held_arrives_when_the_partition_is_over() {
    for direction in [ToServer, ToClient] {
        let (proxy, mut ends) = echo().await;
        let (mut client, connection) = connected(&proxy).await;
        ping(&mut client).await;
        connection.set(direction, Fault::Hold);
        send(&mut client, "held").await;
        soon(connection.until_seen(direction, 8)).await;
        not_yet(client.peek(&mut [0])).await;
        assert_eq!(connection.passed(direction), 4);
        // So is the end of the stream, if it is this direction's.
        client.shutdown().await.unwrap();
        if direction == ToServer {
            not_yet(ends.recv()).await;
        }
        connection.set(direction, Fault::None);
        receive(&mut client, "held").await;
        assert_eq!(soon(ends.recv()).await, Some(Ok(())));
    }
}

#[tokio::test]
async fn what_is_discarded_never_arrives() {
    let (proxy, _ends) = echo().await;
    let (mut client, connection) = connected(&proxy).await;
    connection.set_both(Fault::Discard);
    send(&mut client, "gone").await;
    soon(connection.until_seen(ToServer, 4)).await;
    not_yet(client.peek(&mut [0])).await;
    assert_eq!(
        (connection.passed(ToServer), connection.seen(ToClient)),
        (0, 0)
    );
}

#[tokio::test]
async fn a_lost_reply_ends_the_connection_after_the_request_was_done() {
    let (proxy, mut ends) = echo().await;
    let (mut client, connection) = connected(&proxy).await;
    ping(&mut client).await;
    connection.set(ToClient, Fault::CutInstead);
    send(&mut client, "last").await;
    soon(connection.until_ended()).await;
    assert_eq!(connection.passed(ToServer), 8);
    assert_eq!(
        (connection.seen(ToClient), connection.passed(ToClient)),
        (8, 4)
    );
    assert_eq!(soon(client.read(&mut [0; 8])).await.unwrap(), 0);
    assert_eq!(soon(ends.recv()).await, Some(Ok(())));
}

#[tokio::test]
async fn a_lost_request_never_reaches_the_server() {
    let (proxy, _ends) = echo().await;
    let (mut client, connection) = connected(&proxy).await;
    connection.set(ToServer, Fault::CutInstead);
    send(&mut client, "lost").await;
    soon(connection.until_ended()).await;
    assert_eq!(
        (connection.seen(ToServer), connection.passed(ToServer)),
        (4, 0)
    );
}

#[tokio::test]
async fn a_cut_is_orderly_and_a_reset_is_not() {
    let (proxy, mut ends) = echo().await;
    let (mut client, connection) = connected(&proxy).await;
    ping(&mut client).await;
    connection.end(End::Cut);
    assert_eq!(soon(client.read(&mut [0; 8])).await.unwrap(), 0);
    assert_eq!(soon(ends.recv()).await, Some(Ok(())));

    let (mut client, connection) = connected(&proxy).await;
    ping(&mut client).await;
    connection.end(End::Reset);
    let error = soon(client.read(&mut [0; 8])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(
        soon(ends.recv()).await,
        Some(Err(ErrorKind::ConnectionReset))
    );
}

#[tokio::test]
async fn a_half_open_connection_takes_requests_and_says_nothing() {
    let (proxy, mut ends) = echo().await;
    let (mut client, connection) = connected(&proxy).await;
    ping(&mut client).await;
    connection.end(End::Server);
    assert_eq!(soon(ends.recv()).await, Some(Ok(())));
    send(&mut client, "hello?").await;
    soon(connection.until_seen(ToServer, 10)).await;
    not_yet(client.peek(&mut [0])).await;
    assert!(!connection.has_ended());
    connection.end(End::Reset);
    let error = soon(client.read(&mut [0; 8])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    soon(connection.until_ended()).await;
}

#[tokio::test]
async fn the_server_can_be_left_with_a_client_that_is_gone() {
    let (proxy, mut ends) = echo().await;
    let (mut client, connection) = connected(&proxy).await;
    ping(&mut client).await;
    connection.end(End::Client);
    assert_eq!(soon(client.read(&mut [0; 8])).await.unwrap(), 0);
    not_yet(ends.recv()).await;
    connection.end(End::Cut);
    assert_eq!(soon(ends.recv()).await, Some(Ok(())));
}

#[tokio::test]
async fn faults_are_set_for_one_for_the_next_or_for_all() {
    let (proxy, _ends) = echo().await;
    let (mut first, _) = connected(&proxy).await;
    proxy.set_next(Faults::both(Fault::Hold));
    let (mut second, connection) = connected(&proxy).await;
    let (mut third, _) = connected(&proxy).await;
    send(&mut second, "held").await;
    ping(&mut first).await;
    ping(&mut third).await;
    assert_eq!(connection.passed(ToServer), 0);
    connection.set_both(Fault::None);
    receive(&mut second, "held").await;

    proxy.set(ToServer, Fault::Hold);
    let (mut fourth, _) = connected(&proxy).await;
    for client in [&mut first, &mut third, &mut fourth] {
        send(client, "held").await;
        not_yet(client.peek(&mut [0])).await;
    }
    proxy.set(ToServer, Fault::None);
    for client in [&mut first, &mut third, &mut fourth] {
        receive(client, "held").await;
    }
}

#[tokio::test]
async fn what_a_side_resets_is_reset_on_the_other() {
    let (proxy, mut ends) = echo().await;
    let (mut client, connection) = connected(&proxy).await;
    ping(&mut client).await;
    client.set_zero_linger().unwrap();
    drop(client);
    assert_eq!(
        soon(ends.recv()).await,
        Some(Err(ErrorKind::ConnectionReset))
    );
    soon(connection.until_ended()).await;
}

#[tokio::test]
async fn without_a_server_a_connection_is_reset() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = Proxy::start(listener.local_addr().unwrap()).unwrap();
    drop(listener);
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    let error = soon(client.read(&mut [0; 8])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn its_end_ends_its_connections() {
    let (proxy, mut ends) = echo().await;
    let (mut client, _) = connected(&proxy).await;
    ping(&mut client).await;
    let address = proxy.address();
    drop(proxy);
    assert_eq!(soon(client.read(&mut [0; 8])).await.unwrap(), 0);
    assert_eq!(soon(ends.recv()).await, Some(Ok(())));
    assert!(TcpStream::connect(address).await.is_err());
}
