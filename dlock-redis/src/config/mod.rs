//! What a Redis URL can say; strict.

use dlock_core::{
    Result,
    config::{Host, Secret, Settings, TlsFiles},
};

pub(crate) mod options;

pub use self::options::RedisOptions;

/// What stands behind the addresses of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// One server: `redis://host[:port][/database]`.
    Server,
    /// Sentinels, who know which server is the primary:
    /// `redis-sentinel://host[:port][,…]/service[/database]`.
    Sentinel,
    /// A Cluster, of which some nodes are given: `redis-cluster://host[:port][,…]`.
    Cluster,
}

/// Which servers to use, and how.
#[derive(Clone, Debug)]
pub struct RedisConfig {
    pub(crate) topology: Topology,
    pub(crate) hosts: Vec<Host>,
    /// How the Sentinels call the primary.
    pub(crate) service: String,
    pub(crate) login: Login,
    /// At the Sentinels.
    pub(crate) sentinel_login: Login,
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) options: RedisOptions,
}

/// Who we are, and which database is meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
    pub(crate) database: i64,
}

impl RedisConfig {
    /// More addresses than anybody types.
    const HOSTS_MAX: usize = 32;

    /// Reads the settings of a URL; with `tls` of one whose scheme begins with `rediss`.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for what is not allowed.
    pub fn from_settings(settings: &mut Settings, topology: Topology, tls: bool) -> Result<Self> {
        settings.check_ttl(RedisOptions::TTL_MIN..=RedisOptions::TTL_MAX)?;
        let hosts = settings.take_hosts();
        check_hosts(settings, topology, hosts.len())?;
        let (service, database) = place(settings, topology)?;
        let login = Login {
            user: settings.take_user(),
            password: settings.take_password(),
            database,
        };
        let sentinel_login = match topology {
            Topology::Sentinel => Login {
                user: settings.take_str("sentinel_user")?,
                password: settings.take_secret("sentinel_password")?,
                database: 0,
            },
            Topology::Server | Topology::Cluster => Login::default(),
        };
        Ok(Self {
            topology,
            hosts,
            service,
            login,
            sentinel_login,
            tls: tls.then(|| TlsFiles::take(settings)).transpose()?,
            options: RedisOptions::take(settings)?,
        })
    }
}

impl Topology {
    /// Where a server of this kind listens if nothing else is said.
    pub(crate) fn default_port(self) -> u16 {
        match self {
            Self::Server | Self::Cluster => 6379,
            Self::Sentinel => 26379,
        }
    }
}

fn check_hosts(settings: &Settings, topology: Topology, count: usize) -> Result<()> {
    let why = match topology {
        Topology::Server if count != 1 => {
            "redis:// takes one server, such as redis://127.0.0.1:6379; several are given to \
             redis-sentinel:// or redis-cluster://"
        }
        _ if count == 0 => "a server is missing, such as 127.0.0.1",
        _ if count > RedisConfig::HOSTS_MAX => "at most 32 servers are given; they find the others",
        _ => return Ok(()),
    };
    Err(settings.invalid(why))
}

/// The Sentinels' service and the database, from the path.
fn place(settings: &mut Settings, topology: Topology) -> Result<(String, i64)> {
    let path = settings.take_path().unwrap_or_default();
    let path = path.trim_start_matches('/');
    let (service, rest) = match topology {
        Topology::Server | Topology::Cluster => ("", path),
        Topology::Sentinel => path.split_once('/').unwrap_or((path, "")),
    };
    if topology == Topology::Sentinel && service.is_empty() {
        let why = "after the Sentinels comes the name of what they watch, such as /mymaster";
        return Err(settings.invalid(why));
    }
    let database = match rest {
        "" => 0,
        number if number.len() <= 4 && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            number.parse().unwrap_or(0)
        }
        _ => {
            let why = "after the server comes the number of its database, such as /0";
            return Err(settings.invalid(why));
        }
    };
    if topology == Topology::Cluster && database != 0 {
        return Err(settings.invalid("a Cluster has no database but 0"));
    }
    Ok((service.to_owned(), database))
}
