//! The process that listens at an address of this machine.

use std::{
    fs,
    net::{IpAddr, ToSocketAddrs as _, UdpSocket},
    path::Path,
};

/// The begins of the names of servers. Another listener, such as one that forwards to a container, is not the
/// server.
const SERVERS: [&str; 8] = [
    "etcd",
    "java",
    "keydb",
    "ld-linux",
    "mariadbd",
    "mysqld",
    "redis-server",
    "valkey-server",
];

/// The state LISTEN in the kernel's tables of sockets.
const LISTEN: &str = "0A";

/// The process of the server at `host`; `None` for a server of another machine, and where the system does not say.
pub(crate) fn server_of(host: &str, port: u16) -> Option<u32> {
    let mut addresses = (host, port).to_socket_addrs().ok()?;
    addresses.find(|address| is_local(address.ip()))?;
    let sockets: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| listeners(&table, port))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .find(|pid| is_server(*pid) && has_one_of(*pid, &sockets))
}

/// Only an address of this machine can be bound.
fn is_local(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// The inodes of the sockets that listen at `port`.
fn listeners(table: &str, port: u16) -> Vec<String> {
    let wanted = format!(":{port:04X}");
    let rows = table.lines().map(|line| line.split_whitespace().collect());
    let mine = rows.filter(|row: &Vec<&str>| {
        let [local, state] = [1, 3].map(|column| row.get(column).copied().unwrap_or_default());
        local.ends_with(&wanted) && state == LISTEN
    });
    mine.filter_map(|row| row.get(9).map(|&inode| inode.to_owned()))
        .collect()
}

fn is_server(pid: u32) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    SERVERS.iter().any(|server| name.starts_with(server))
}

fn has_one_of(pid: u32, sockets: &[String]) -> bool {
    let Ok(open) = fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd")) else {
        return false;
    };
    let links = open
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok());
    let mut names = links.filter_map(|link| link.to_str().map(str::to_owned));
    names.any(|name| sockets.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_found_by_its_port() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:18EB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4242 1
   1: 0100007F:18EB 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 4243 1
   2: 0100007F:094B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4244 1
";
        assert_eq!(listeners(table, 6379), ["4242"]);
        assert_eq!(listeners(table, 2379), ["4244"]);
        assert!(listeners(table, 1).is_empty());
    }

    #[test]
    fn this_program_is_no_server() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        assert!(
            !listeners(&fs::read_to_string("/proc/net/tcp").expect("a table"), port).is_empty()
        );
        assert_eq!(server_of("127.0.0.1", port), None);
    }
}
