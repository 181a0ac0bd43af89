//! Free ports.

use std::{
    env,
    fs::{self, File},
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
};

use rand::RngExt as _;

/// Below are ports of the machine's services.
const FIRST: u16 = 10_000;

/// The begin of the kernel's own choices if it does not say.
const EPHEMERAL_FIRST: u16 = 32_768;

/// How many ports are tried before none is called free.
const TRIES_MAX: usize = 1_000;

/// A loopback port that no other test takes while this lives, also while nothing listens there.
///
/// The range is below the ports that the kernel gives to clients. There, a client that tries to reach a killed
/// server could be given the very same port, and connect to itself.
#[derive(Debug)]
pub struct Port {
    number: u16,
    /// Locked while this lives; the kernel unlocks it when the process dies.
    _reservation: File,
}

impl Port {
    /// Reserves one.
    ///
    /// # Errors
    ///
    /// When the temporary directory cannot be written to, or no port was free in 1,000 tries.
    pub fn reserve() -> io::Result<Self> {
        let user = rustix::process::getuid().as_raw();
        let directory = env::temp_dir().join(format!("dlock-test-ports-{user}"));
        fs::create_dir_all(&directory)?;
        let end = ephemeral_first();
        for _ in 0..TRIES_MAX {
            let number = rand::rng().random_range(FIRST..end);
            let reservation = File::create(directory.join(number.to_string()))?;
            let is_free = || TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok();
            if reservation.try_lock().is_ok() && is_free() {
                return Ok(Self {
                    number,
                    _reservation: reservation,
                });
            }
        }
        Err(io::Error::other(format!(
            "no free port in {TRIES_MAX} tries"
        )))
    }

    /// The number of the port.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The loopback address with it.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.number).into()
    }
}

/// The first port that the kernel gives to clients.
fn ephemeral_first() -> u16 {
    fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
        .ok()
        .and_then(|range| range.split_whitespace().next()?.parse().ok())
        .filter(|first| *first > FIRST + 1_000)
        .unwrap_or(EPHEMERAL_FIRST)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_port_is_given_twice() {
        let ports: Vec<_> = (0..100).map(|_| Port::reserve().unwrap()).collect();
        let numbers: HashSet<_> = ports.iter().map(Port::number).collect();
        assert_eq!(numbers.len(), ports.len());
        for port in &ports {
            let file = env::temp_dir()
                .join(format!(
                    "dlock-test-ports-{}",
                    rustix::process::getuid().as_raw()
                ))
                .join(port.number().to_string());
            assert!(File::open(file).unwrap().try_lock().is_err());
        }
    }
}
