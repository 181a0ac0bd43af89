//! The callers of a port: the process behind each connection.
//!
//! All members of a cluster must know each of them by the same address, so no address identifies its
//! caller. The kernel does: it lists the sockets of each process, and a server of ours is known by the
//! directory that it runs in.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// The process of these `directories` that has connected from the address `from` to the address `to` of this
/// machine. `None` if no such process is left.
pub(super) fn caller(directories: &[PathBuf], from: SocketAddr, to: SocketAddr) -> Option<usize> {
    let socket = socket(&fs::read_to_string("/proc/net/tcp").ok()?, from, to)?;
    let processes = fs::read_dir("/proc").ok()?;
    processes.filter_map(Result::ok).find_map(|process| {
        let directory = fs::read_link(process.path().join("cwd")).ok()?;
        let at = directories.iter().position(|one| *one == directory)?;
        has(&process.path(), &socket).ok()?.then_some(at)
    })
}

/// The name of the socket between two addresses, at the end of the first one.
fn socket(table: &str, from: SocketAddr, to: SocketAddr) -> Option<String> {
    let ends = (words(from)?, words(to)?);
    table.lines().find_map(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let found = (columns.next()?, columns.next()?);
        let inode = columns.nth(6)?;
        (found == (&*ends.0, &*ends.1)).then(|| format!("socket:[{inode}]"))
    })
}

/// An address as the kernel writes it; it has none of IPv6 in that table.
fn words(address: SocketAddr) -> Option<String> {
    let SocketAddr::V4(address) = address else {
        return None;
    };
    let ip = u32::from_ne_bytes(address.ip().octets());
    Some(format!("{ip:08X}:{:04X}", address.port()))
}

fn has(process: &Path, socket: &str) -> io::Result<bool> {
    let mut files = fs::read_dir(process.join("fd"))?.filter_map(Result::ok);
    Ok(files.any(|file| fs::read_link(file.path()).is_ok_and(|link| link == Path::new(socket))))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_of_this_process_is_known_by_its_directory() -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let to = listener.local_addr()?;
        let _client = TcpStream::connect(to)?;
        let (_server, from) = listener.accept()?;
        let (here, elsewhere) = (std::env::current_dir()?, PathBuf::from("/nowhere"));
        assert_eq!(caller(&[elsewhere.clone(), here], from, to), Some(1));
        assert_eq!(caller(&[elsewhere], from, to), None);
        Ok(())
    }
}
