//! Where the server is.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use dlock_core::{
    Error, ErrorKind, Result,
    config::{HostList, Settings},
};

/// Where the server is.
#[derive(Clone, Debug)]
pub(crate) enum Address {
    Tcp { host: String, port: u16 },
    Socket(PathBuf),
}

/// The default port of MySQL.
const PORT: u16 = 3306;

impl Address {
    pub(super) fn of(hosts: &HostList, socket: Option<&Path>) -> Self {
        match (socket, hosts.iter().next()) {
            (None, Some(host)) => Self::Tcp {
                host: host.name.clone(),
                port: host.port.unwrap_or(PORT),
            },
            (socket, _) => Self::Socket(socket.map(Path::to_owned).unwrap_or_default()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Socket(path) => write!(f, "{}", path.display()),
        }
    }
}

/// One server, or a socket.
pub(super) fn check(hosts: &HostList, socket: Option<&Path>) -> Result<()> {
    if socket.is_some() {
        return Ok(());
    }
    if hosts.len() > 1 {
        let why = "one server grants locks: give the primary's address, or one that leads to it";
        return Err(Error::new(ErrorKind::InvalidConfig, why));
    }
    hosts.check()
}

/// The hosts and the socket of a URL.
pub(super) fn take(settings: &mut Settings) -> Result<(HostList, Option<PathBuf>)> {
    let socket = settings.take_str("socket")?.map(PathBuf::from);
    let hosts = settings.take_hosts();
    if socket.is_none() {
        return Ok((hosts.into(), None));
    }
    match &hosts[..] {
        // As to the mysql client; a user has no place in a URL without a host.
        [] => {}
        [host] if host.name == "localhost" && host.port.is_none() => {}
        _ => return Err(settings.invalid("the host of socket= is localhost")),
    }
    Ok((HostList::default(), socket))
}
