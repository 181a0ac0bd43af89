//! The kind of servers at the addresses.

use dlock_core::{Error, ErrorKind, Result, config::Settings};

/// The kind of servers at the addresses of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topology {
    /// One server: `redis://host[:port][/database]`.
    Server,
    /// Sentinels, which monitor the primary:
    /// `redis-sentinel://host[:port][,…]/service[/database]`.
    Sentinel,
    /// A Cluster, some of whose nodes are given: `redis-cluster://host[:port][,…]`.
    Cluster,
}

impl Topology {
    pub(super) fn of_scheme(scheme: &str) -> Self {
        match scheme.split_once('-') {
            Some((_, "sentinel")) => Self::Sentinel,
            Some((_, "cluster")) => Self::Cluster,
            _ => Self::Server,
        }
    }

    /// The port of a host without one.
    pub(crate) fn default_port(self) -> u16 {
        match self {
            Self::Server | Self::Cluster => 6379,
            Self::Sentinel => 26379,
        }
    }

    /// Checks how many servers are given.
    pub(super) fn check_count(self, count: usize) -> Result<()> {
        if self == Self::Server && count > 1 {
            let why = "redis:// takes one server, such as redis://127.0.0.1:6379; for several use \
                       redis-sentinel:// or redis-cluster://";
            return Err(Error::new(ErrorKind::InvalidConfig, why));
        }
        Ok(())
    }
}

/// The Sentinels' service and the database, from the path.
pub(super) fn service_and_database(
    settings: &mut Settings,
    topology: Topology,
) -> Result<(String, u16)> {
    let path = settings.take_path().unwrap_or_default();
    let path = path.trim_start_matches('/');
    let (service, rest) = match topology {
        Topology::Server | Topology::Cluster => ("", path),
        Topology::Sentinel => path.split_once('/').unwrap_or((path, "")),
    };
    let database = match rest {
        "" => 0,
        number if number.len() <= 4 && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            number.parse().unwrap_or(0)
        }
        _ => {
            let why = "the path after the server must be the number of a database, such as /0";
            return Err(settings.invalid(why));
        }
    };
    Ok((service.to_owned(), database))
}
