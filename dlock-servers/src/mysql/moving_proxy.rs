//! A proxy that shares sessions among its clients, as one that pools connections does.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use dlock_core::toolkit::Lock;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{Mutex as Shared, OwnedMutexGuard},
    task::{JoinHandle, JoinSet},
};

/// Where bytes are written to, by the number of the connection.
type Sinks = Lock<Vec<Arc<Shared<OwnedWriteHalf>>>>;

/// A request with these bytes makes the first two connections change places.
const TRIGGER: &[u8] = b"CONNECTION_ID";

/// The proxy; it ends when this is dropped.
#[derive(Debug)]
pub struct MovingProxy {
    address: SocketAddr,
    acceptor: JoinHandle<()>,
}

#[derive(Default)]
struct Routes {
    clients: Sinks,
    servers: Sinks,
    is_swapped: AtomicBool,
    /// Whose request of the first two connections has no reply yet: they never change places before it.
    turn: Arc<Shared<()>>,
    exchange: Lock<Option<OwnedMutexGuard<()>>>,
}

impl MovingProxy {
    /// A proxy to `server`, where the first two connections change places with each request for their ids.
    ///
    /// # Errors
    ///
    /// When it cannot listen.
    pub async fn start(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let routes = Arc::new(Routes::default());
        let acceptor = tokio::spawn(async move {
            // They end with this task.
            let mut pumps = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await
                && let Ok(server) = TcpStream::connect(server).await
            {
                routes.carry(client, server, &mut pumps);
            }
        });
        Ok(Self { address, acceptor })
    }

    /// The address for clients.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MovingProxy {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

impl Routes {
    fn carry(self: &Arc<Self>, client: TcpStream, server: TcpStream, pumps: &mut JoinSet<()>) {
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let number = push(&self.clients, to_client);
        push(&self.servers, to_server);
        pumps.spawn(self.clone().pump_requests(from_client, number));
        pumps.spawn(self.clone().pump_replies(from_server, number));
    }

    async fn pump_requests(self: Arc<Self>, mut from: OwnedReadHalf, number: usize) {
        let mut bytes = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes).await {
            let request = &bytes[..count];
            if number < 2 {
                let turn = self.turn.clone().lock_owned().await;
                *self.exchange.lock() = Some(turn);
                if request.windows(TRIGGER.len()).any(|part| part == TRIGGER) {
                    self.is_swapped.fetch_xor(true, Ordering::AcqRel);
                }
            }
            let sink = self.servers.lock()[self.of(number)].clone();
            if sink.lock().await.write_all(request).await.is_err() {
                return;
            }
        }
    }

    async fn pump_replies(self: Arc<Self>, mut from: OwnedReadHalf, number: usize) {
        let mut bytes = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes).await {
            let client = self.of(number);
            self.end_exchange(number);
            let sink = self.clients.lock()[client].clone();
            if sink.lock().await.write_all(&bytes[..count]).await.is_err() {
                return;
            }
        }
        // The end of a session has no reply.
        self.end_exchange(number);
    }

    fn end_exchange(&self, number: usize) {
        if number < 2 {
            *self.exchange.lock() = None;
        }
    }

    /// Whose other side the connection `number` has.
    fn of(&self, number: usize) -> usize {
        match number {
            0 | 1 if self.is_swapped.load(Ordering::Acquire) => 1 - number,
            number => number,
        }
    }
}

fn push(sinks: &Sinks, sink: OwnedWriteHalf) -> usize {
    let mut sinks = sinks.lock();
    sinks.push(Arc::new(Shared::new(sink)));
    sinks.len() - 1
}
