//! One connection through the proxy.

use std::{net::SocketAddr, sync::Arc};

use tokio::{io::AsyncWriteExt as _, net::TcpStream, sync::watch};

use super::{
    fault::{Direction, Fault, Faults},
    pipe::{Pipe, Stop, wait_for},
};

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "what TCP knows")]
pub enum End {
    /// Both sides see an orderly end (FIN).
    Cut,
    /// Both sides see a reset (RST).
    Reset,
    /// The server sees an orderly end. For the client the connection stays open: what it sends is
    /// taken, and nothing comes back. It ends with the client's.
    Server,
    /// The reverse: the client sees an orderly end, and the server keeps a client that says nothing.
    Client,
}

/// One connection through a [`Proxy`](super::Proxy); clones are the same one.
#[derive(Clone, Debug)]
pub struct Connection(Arc<State>);

#[derive(Debug)]
struct State {
    to_server: Pipe,
    to_client: Pipe,
    /// The end that the test requested last.
    end: watch::Sender<Option<End>>,
    /// Whether both sockets are closed.
    ended: watch::Sender<bool>,
}

impl Connection {
    pub(super) fn new(faults: Faults) -> Self {
        Self(Arc::new(State {
            to_server: Pipe::new(faults.to_server),
            to_client: Pipe::new(faults.to_client),
            end: watch::Sender::new(None),
            ended: watch::Sender::new(false),
        }))
    }

    /// Changes the fault of one direction, also for bytes that were not passed on yet.
    pub fn set(&self, direction: Direction, fault: Fault) {
        self.pipe(direction).set(fault);
    }

    /// Changes the faults of both directions.
    pub fn set_both(&self, fault: Fault) {
        self.set(Direction::ToServer, fault);
        self.set(Direction::ToClient, fault);
    }

    /// Ends the connection. Bytes that were not passed on yet are lost.
    pub fn end(&self, end: End) {
        self.0.end.send_replace(Some(end));
    }

    /// Whether an end was requested. What was not passed on by then is lost.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.0.end.borrow().is_some()
    }

    /// The number of bytes of one direction that have arrived at the proxy.
    #[must_use]
    pub fn seen(&self, direction: Direction) -> u64 {
        *self.pipe(direction).seen.borrow()
    }

    /// The number of bytes of one direction that have been passed on.
    #[must_use]
    pub fn passed(&self, direction: Direction) -> u64 {
        *self.pipe(direction).passed.borrow()
    }

    /// Waits until at least `count` bytes of one direction have arrived at the proxy, since the beginning.
    ///
    /// # Cancel safety
    ///
    /// It changes nothing.
    pub async fn until_seen(&self, direction: Direction, count: u64) {
        wait_for(&self.pipe(direction).seen, |seen| *seen >= count).await;
    }

    /// Waits until at least `count` bytes of one direction have been passed on, since the beginning.
    ///
    /// # Cancel safety
    ///
    /// It changes nothing.
    pub async fn until_passed(&self, direction: Direction, count: u64) {
        wait_for(&self.pipe(direction).passed, |passed| *passed >= count).await;
    }

    /// Whether the connection has ended on both sides.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        *self.0.ended.borrow()
    }

    /// Waits until the connection has ended on both sides, for any reason.
    ///
    /// # Cancel safety
    ///
    /// It changes nothing.
    pub async fn until_ended(&self) {
        wait_for(&self.0.ended, |ended| *ended).await;
    }

    fn pipe(&self, direction: Direction) -> &Pipe {
        match direction {
            Direction::ToServer => &self.0.to_server,
            Direction::ToClient => &self.0.to_client,
        }
    }

    /// Carries bytes both ways until it ends.
    pub(super) async fn forward(self, mut client: TcpStream, server: SocketAddr) {
        // Without a server there is nothing to end but the client's side.
        match TcpStream::connect(server).await {
            Ok(mut server) => {
                let end = self.forward_until_end(&mut client, &mut server).await;
                self.close(end, client, server).await;
            }
            Err(_) => {
                let _ = client.set_zero_linger();
            }
        }
        self.0.ended.send_replace(true);
    }

    async fn forward_until_end(&self, client: &mut TcpStream, server: &mut TcpStream) -> End {
        // Small writes go out at once, as the peers wrote them.
        let _ = client.set_nodelay(true);
        let _ = server.set_nodelay(true);
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let both = async {
            tokio::try_join!(
                self.0.to_server.forward(from_client, to_server),
                self.0.to_client.forward(from_server, to_client),
            )
        };
        tokio::select! {
            end = self.end_requested(None) => end,
            forwarded = both => match forwarded {
                // Each side has closed its half: all has been passed on.
                Ok(_) | Err(Stop::Cut) => End::Cut,
                Err(Stop::Broken) => End::Reset,
            },
        }
    }

    async fn close(&self, end: End, mut client: TcpStream, mut server: TcpStream) {
        match end {
            End::Cut => {
                let _ = client.shutdown().await;
                let _ = server.shutdown().await;
            }
            End::Reset => {
                let _ = client.set_zero_linger();
                let _ = server.set_zero_linger();
            }
            End::Server => {
                drop(server);
                self.keep_open(client, end).await;
            }
            End::Client => {
                drop(client);
                self.keep_open(server, end).await;
            }
        }
    }

    /// Discards what one side sends, until it closes the connection or the test requests another end.
    async fn keep_open(&self, mut stream: TcpStream, end: End) {
        let direction = match end {
            End::Client => Direction::ToClient,
            _ => Direction::ToServer,
        };
        let ended = tokio::select! {
            ended = self.end_requested(Some(end)) => ended,
            () = self.pipe(direction).discard_all(&mut stream) => End::Cut,
        };
        if ended == End::Reset {
            let _ = stream.set_zero_linger();
        }
    }

    /// Waits until the test requests another end than `done`.
    async fn end_requested(&self, done: Option<End>) -> End {
        let mut end = self.0.end.subscribe();
        let found = end.wait_for(|end| end.is_some() && *end != done).await;
        // The sender lives as long as `self`, so there is no error.
        found.ok().and_then(|end| *end).unwrap_or(End::Cut)
    }
}
