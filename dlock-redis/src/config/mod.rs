//! The settings of a Redis URL; strict.

use dlock_core::{
    Result,
    config::{Host, Secret, Settings, Tls},
};

pub(crate) mod options;

pub use self::options::RedisOptions;

/// The kind of servers at the addresses of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// One server: `redis://host[:port][/database]`.
    Server,
    /// Sentinels, which monitor the primary:
    /// `redis-sentinel://host[:port][,…]/service[/database]`.
    Sentinel,
    /// A Cluster, some of whose nodes are given: `redis-cluster://host[:port][,…]`.
    Cluster,
}

/// Servers, logins and options.
#[derive(Clone, Debug)]
pub struct RedisConfig {
    pub(crate) topology: Topology,
    pub(crate) hosts: Vec<Host>,
    /// The Sentinels' name of the primary.
    pub(crate) service: String,
    pub(crate) login: Login,
    /// At the Sentinels.
    pub(crate) sentinel_login: Login,
    pub(crate) tls: Option<Tls>,
    pub(crate) options: RedisOptions,
}

/// User, password and database.
#[derive(Clone, Debug, Default)]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
    pub(crate) database: i64,
}

impl RedisConfig {
    /// The bound on addresses: more than a URL ever needs.
    const HOSTS_MAX: usize = 32;

    /// The schemes of its URLs: one server, Sentinels and a Cluster, each without TLS and with it.
    pub const SCHEMES: &[&str] = &[
        "redis",
        "rediss",
        "redis-sentinel",
        "rediss-sentinel",
        "redis-cluster",
        "rediss-cluster",
    ];

    /// Reads the settings of a URL.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a setting that is malformed or out of range.
    pub fn from_settings(settings: &mut Settings) -> Result<Self> {
        let topology = Topology::of_scheme(settings.scheme());
        let has_tls = settings.scheme().starts_with("rediss");
        settings.check_ttl(RedisOptions::TTL_MIN..=RedisOptions::TTL_MAX)?;
        let hosts = settings.take_hosts();
        check_hosts(settings, topology, hosts.len())?;
        let (service, database) = service_and_database(settings, topology)?;
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
            tls: has_tls.then(|| Tls::take(settings)).transpose()?,
            options: RedisOptions::take(settings)?,
        })
    }
}

impl Topology {
    fn of_scheme(scheme: &str) -> Self {
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
}

fn check_hosts(settings: &Settings, topology: Topology, count: usize) -> Result<()> {
    let why = match topology {
        Topology::Server if count != 1 => {
            "redis:// takes one server, such as redis://127.0.0.1:6379; for several use \
             redis-sentinel:// or redis-cluster://"
        }
        _ if count == 0 => "a server is missing, such as 127.0.0.1",
        _ if count > RedisConfig::HOSTS_MAX => "a URL has at most 32 servers; they name the others",
        _ => return Ok(()),
    };
    Err(settings.invalid(why))
}

/// The Sentinels' service and the database, from the path.
fn service_and_database(settings: &mut Settings, topology: Topology) -> Result<(String, i64)> {
    let path = settings.take_path().unwrap_or_default();
    let path = path.trim_start_matches('/');
    let (service, rest) = match topology {
        Topology::Server | Topology::Cluster => ("", path),
        Topology::Sentinel => path.split_once('/').unwrap_or((path, "")),
    };
    if topology == Topology::Sentinel && service.is_empty() {
        let why = "the name of the primary is missing after the Sentinels, such as /mymaster";
        return Err(settings.invalid(why));
    }
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
    if topology == Topology::Cluster && database != 0 {
        return Err(settings.invalid("a Cluster has only database 0"));
    }
    Ok((service.to_owned(), database))
}
