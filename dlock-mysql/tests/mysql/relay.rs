//! A proxy that shares sessions among its clients, as one that pools connections does: two clients can be made
//! to change places.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::Mutex as Shared,
};

use crate::support::Outcome;

use dlock_core::toolkit::Lock;

/// Where bytes are written to, by the number of the connection.
type Sinks = Lock<Vec<Arc<Shared<OwnedWriteHalf>>>>;

/// The proxy; it ends with the runtime of its test.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    routes: Arc<Routes>,
}

struct Routes {
    clients: Sinks,
    servers: Sinks,
    /// Which two change places,
    pair: [usize; 2],
    /// and whether they have.
    is_swapped: AtomicBool,
}

impl Relay {
    /// A proxy to `server`, where the connections number `pair`, counted from 0, can change places.
    pub(crate) async fn start(server: SocketAddr, pair: [usize; 2]) -> Outcome<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let routes = Arc::new(Routes {
            clients: Lock::default(),
            servers: Lock::default(),
            pair,
            is_swapped: AtomicBool::new(false),
        });
        let accepting = routes.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await
                && let Ok(server) = TcpStream::connect(server).await
            {
                accepting.carry(client, server);
            }
        });
        Ok(Self { address, routes })
    }

    /// From now on each of the two talks to the session of the other one.
    pub(crate) fn swap(&self) {
        self.routes.is_swapped.store(true, Ordering::Release);
    }
}

impl Routes {
    fn carry(self: &Arc<Self>, client: TcpStream, server: TcpStream) {
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let number = push(&self.clients, to_client);
        push(&self.servers, to_server);
        tokio::spawn(
            self.clone()
                .pump(from_client, number, |routes| &routes.servers),
        );
        tokio::spawn(
            self.clone()
                .pump(from_server, number, |routes| &routes.clients),
        );
    }

    async fn pump(
        self: Arc<Self>,
        mut from: OwnedReadHalf,
        number: usize,
        to: fn(&Self) -> &Sinks,
    ) {
        let mut bytes = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes).await {
            let sink = to(&self).lock()[self.of(number)].clone();
            if sink.lock().await.write_all(&bytes[..count]).await.is_err() {
                return;
            }
        }
    }

    /// Whose other side the connection `number` has.
    fn of(&self, number: usize) -> usize {
        match self.pair {
            pair if !self.is_swapped.load(Ordering::Acquire) || !pair.contains(&number) => number,
            [one, other] if number == one => other,
            [one, _] => one,
        }
    }
}

fn push(sinks: &Sinks, sink: OwnedWriteHalf) -> usize {
    let mut sinks = sinks.lock();
    sinks.push(Arc::new(Shared::new(sink)));
    sinks.len() - 1
}
