//! The settings of a Redis backend, and their checks.

use std::fmt::Display;

use dlock_core::{
    Error, ErrorKind, Result,
    config::{HostList, Login, LoginKeys, Password, Settings, Tls, check_u64},
};

use redis::io::tcp::TcpSettings;

use super::{
    options::Options,
    topology::{self, Topology},
};

/// The settings of a Redis backend: its servers, and how to connect to them.
///
/// Setters do not fail: [`RedisLock::connect`](crate::RedisLock::connect) checks the values before any I/O, with
/// the same errors as for a URL.
///
/// ```
/// use std::time::Duration;
///
/// use dlock_core::config::Tls;
/// use dlock_redis::RedisConfig;
///
/// let config = RedisConfig::new("db-1")
///     .login("app", "secret")
///     .tls(Tls::new().ca("/etc/dlock/ca.pem"))
///     .prefix("shop:")
///     .restart_guard(Duration::from_secs(60));
/// assert!(!format!("{config:?}").contains("secret"));
///
/// let config = RedisConfig::sentinel(["sentinel-1", "sentinel-2:26379"], "mymaster").min_acks(1);
/// let config = RedisConfig::cluster(["node-1", "[::1]:6380"]);
/// # let _ = config;
/// ```
///
/// It takes no live connection of yours. The driver's connection managers reconnect silently, so dlock would not
/// probe whether the server still has the locks. On a shared connection a slow request of other code could
/// outlast a ttl.
#[derive(Clone, Debug)]
#[must_use = "settings do nothing until a backend is connected"]
pub struct RedisConfig {
    pub(crate) topology: Topology,
    pub(crate) hosts: HostList,
    /// The Sentinels' name of the primary.
    pub(crate) service: String,
    pub(crate) login: Login,
    pub(crate) database: u16,
    /// At the Sentinels.
    pub(crate) sentinel_login: Login,
    pub(crate) tls: Option<Tls>,
    pub(crate) tcp: TcpSettings,
    pub(crate) options: Options,
}

impl RedisConfig {
    /// The largest number of a database: four digits.
    const DATABASE_MAX: u64 = 9_999;

    /// The keys of the login at the Sentinels.
    const SENTINEL_LOGIN: LoginKeys = LoginKeys {
        user: "sentinel_user",
        password: "sentinel_password",
        password_file: "sentinel_password_file",
        password_env: "sentinel_password_env",
    };

    /// The schemes of its URLs: one server, Sentinels and a Cluster, each without TLS and with it.
    pub const SCHEMES: &[&str] = &[
        "redis",
        "rediss",
        "redis-sentinel",
        "rediss-sentinel",
        "redis-cluster",
        "rediss-cluster",
    ];

    /// One server at `host`, which may be `host:port` or `[address]:port`; the default port is 6379.
    pub fn new(host: impl Display) -> Self {
        Self::of(Topology::Server, HostList::new([host]))
    }

    /// The primary that Sentinels monitor by the name `service`; the Sentinels' default port is 26379.
    pub fn sentinel<I>(hosts: I, service: impl Into<String>) -> Self
    where
        I: IntoIterator,
        I::Item: Display,
    {
        let config = Self::of(Topology::Sentinel, HostList::new(hosts));
        Self {
            service: service.into(),
            ..config
        }
    }

    /// A Cluster, some of whose nodes are given; the default port is 6379.
    pub fn cluster<I>(hosts: I) -> Self
    where
        I: IntoIterator,
        I::Item: Display,
    {
        Self::of(Topology::Cluster, HostList::new(hosts))
    }

    pub(super) fn of(topology: Topology, hosts: HostList) -> Self {
        Self {
            topology,
            hosts,
            service: String::new(),
            login: Login::default(),
            database: 0,
            sentinel_login: Login::default(),
            tls: None,
            tcp: TcpSettings::default(),
            options: Options::default(),
        }
    }

    /// Reads the settings of a URL.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a setting that is malformed or out of range.
    pub fn from_settings(settings: &mut Settings) -> Result<Self> {
        settings.check_ttl(Options::TTL_MIN..=Options::TTL_MAX)?;
        let topology = Topology::of_scheme(settings.scheme());
        let mut config = Self::of(topology, settings.take_hosts().into());
        (config.service, config.database) = topology::service_and_database(settings, topology)?;
        config.login = Login::take(settings)?;
        if topology == Topology::Sentinel {
            config.sentinel_login = Login::take_keys(settings, Self::SENTINEL_LOGIN)?;
        }
        if settings.scheme().starts_with("rediss") {
            config.tls = Some(Tls::take(settings)?);
        }
        config.options = Options::take(settings)?;
        config.check().map_err(|error| settings.invalid(error))?;
        Ok(config)
    }

    /// Logs in at the servers. A [`Password::file`] is read again for each connection.
    pub fn login(mut self, user: impl Into<String>, password: impl Into<Password>) -> Self {
        self.login = Login::new(user, password);
        self
    }

    /// Logs in at the servers as their default user.
    pub fn password(mut self, password: impl Into<Password>) -> Self {
        self.login = Login::from_parts(None, Some(password.into()));
        self
    }

    /// Logs in at the Sentinels: the keys `sentinel_user` and `sentinel_password`.
    pub fn sentinel_login(
        mut self,
        user: impl Into<String>,
        password: impl Into<Password>,
    ) -> Self {
        self.sentinel_login = Login::new(user, password);
        self
    }

    /// Logs in at the Sentinels as their default user.
    pub fn sentinel_password(mut self, password: impl Into<Password>) -> Self {
        self.sentinel_login = Login::from_parts(None, Some(password.into()));
        self
    }

    /// Sets the number of the database: the path of a URL. Default 0, the only one of a Cluster.
    pub fn database(mut self, database: u16) -> Self {
        self.database = database;
        self
    }

    /// Encrypts the connections, also those to Sentinels. Needs the cargo feature `tls`.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Checks all values, before any I/O (K11).
    pub(crate) fn check(&self) -> Result<()> {
        let invalid = |why: &'static str| Err(Error::new(ErrorKind::InvalidConfig, why));
        self.check_servers()?;
        if self.topology == Topology::Sentinel && self.service.is_empty() {
            return invalid(
                "the name of the primary is missing after the Sentinels, such as /mymaster",
            );
        }
        check_u64("database", self.database.into(), 0..=Self::DATABASE_MAX)?;
        if self.topology == Topology::Cluster && self.database != 0 {
            return invalid("a Cluster has only database 0");
        }
        self.login.check_user()?;
        self.sentinel_login.check_user()?;
        if self.topology != Topology::Sentinel && self.sentinel_login != Login::default() {
            return invalid("a login at Sentinels is given, but no Sentinels");
        }
        if cfg!(not(feature = "tls")) && self.tls.is_some() {
            return Err(Tls::left_out());
        }
        self.options.check()
    }

    fn check_servers(&self) -> Result<()> {
        self.hosts.check()?;
        self.topology.check_count(self.hosts.len())
    }
}
