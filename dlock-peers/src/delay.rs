//! A network that takes its time: a proxy in this process, which is neither a client's nor the server's.
//!
//! Each direction of a connection has two threads. They sleep more exactly than a runtime, whose timers have whole
//! milliseconds.

use std::{
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::Duration,
};

use dlock_core::{BootInstant, Clock};

/// How many bytes are taken at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// A proxy to one server, which lives as long as this process.
pub(crate) struct Delay {
    address: SocketAddr,
}

/// How much longer than requested a thread sleeps.
const SLACK: Duration = Duration::from_micros(60);

/// Bytes, and when they are to be passed on.
type Chunk = (BootInstant, Vec<u8>);

impl Delay {
    /// Starts a proxy that delays each direction.
    ///
    /// # Errors
    ///
    /// When there is no free port.
    pub(crate) fn start(server: SocketAddr, delay: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                // A client whose server is not there sees the end of its connection.
                let _ = carry(client, server, delay);
            }
        });
        Ok(Self { address })
    }

    /// The address for clients.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

fn carry(client: TcpStream, server: SocketAddr, delay: Duration) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    pipe(client.try_clone()?, server.try_clone()?, delay);
    pipe(server, client, delay);
    Ok(())
}

/// Carries one direction. A chunk waits from its own arrival, and not for those before it.
fn pipe(from: TcpStream, to: TcpStream, delay: Duration) {
    let (queue, queued) = channel();
    let clock = Clock::boottime();
    let arrivals = clock.clone();
    thread::spawn(move || take(from, &queue, || arrivals.now().after(delay)));
    thread::spawn(move || pass(to, &queued, &clock));
}

fn take(mut from: TcpStream, queue: &Sender<Chunk>, due: impl Fn() -> BootInstant) {
    let mut bytes = vec![0; CHUNK_BYTES];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if queue.send((due(), bytes[..count].to_vec())).is_err() {
            return;
        }
    }
}

fn pass(mut to: TcpStream, queued: &Receiver<Chunk>, clock: &Clock) {
    for (due, bytes) in queued {
        let left = due.since(clock.now()).saturating_sub(SLACK);
        if !left.is_zero() {
            thread::sleep(left);
        }
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    // It may be closed already.
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_takes_the_delay_and_the_end_arrives() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let server = listener.local_addr().unwrap();
        let echo = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let mut byte = [0];
            while stream.read(&mut byte).unwrap() == 1 {
                stream.write_all(&byte).unwrap();
            }
        });
        let delay = Duration::from_millis(20);
        let proxy = Delay::start(server, delay).unwrap();
        let mut client = TcpStream::connect(proxy.address()).unwrap();
        let clock = Clock::boottime();
        let begin = clock.now();
        client.write_all(b"a").unwrap();
        client.read_exact(&mut [0]).unwrap();
        assert!(clock.now().since(begin) >= 2 * (delay - SLACK));
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        echo.join().unwrap();
    }
}
