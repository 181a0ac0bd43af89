//! The settings of an etcd backend, from code or from a URL; strict.

mod driver;
mod lease;

use std::{fmt::Display, ops::RangeInclusive, time::Duration};

use dlock_core::{
    Result,
    config::{HostList, Login, Password, Settings, Timeouts, Tls, check_duration, check_prefix},
};

pub(crate) use self::lease::whole_seconds;

use crate::keys::Format;

/// The settings of an etcd backend: its members, and how to connect to them.
///
/// Setters do not fail: [`EtcdLock::connect`](crate::EtcdLock::connect) checks the values before any I/O, with
/// the same errors as for a URL.
///
/// ```
/// use std::time::Duration;
///
/// use dlock_core::config::Tls;
/// use dlock_etcd::EtcdConfig;
///
/// let config = EtcdConfig::new(["etcd-1", "etcd-2:2379", "[::1]:2379"])
///     .login("app", "secret")
///     .tls(Tls::new().ca("/etc/dlock/ca.pem"))
///     .prefix("shop/")
///     .timeout(Duration::from_secs(1));
/// assert!(!format!("{config:?}").contains("secret"));
/// ```
///
/// It takes no client of yours. The driver's client spreads requests over all members and reconnects silently,
/// so dlock would miss a member that hangs. Its login is renewed inside a request, so a slow one could block the
/// renewals of all locks.
#[derive(Clone, Debug)]
#[must_use = "settings do nothing until a backend is connected"]
pub struct EtcdConfig {
    hosts: HostList,
    login: Login,
    tls: Option<Tls>,
    prefix: Option<String>,
    pub(crate) format: Format,
    pub(crate) timeouts: Timeouts,
    election_timeout: Duration,
}

impl EtcdConfig {
    /// The shortest ttl: etcd counts whole seconds.
    pub(crate) const TTL_MIN: Duration = Duration::from_secs(1);

    /// The longest ttl: the lock of a dead holder is blocked for as long.
    pub(crate) const TTL_MAX: Duration = Duration::from_secs(86_400);

    /// The default time-outs: of a connection, enough for a login on a slow network; and of one member's
    /// reply, after which the next member gets the request.
    const TIMEOUTS: Timeouts = Timeouts::new(Duration::from_secs(5), Duration::from_secs(2));

    /// The default of a member's `--election-timeout`.
    const ELECTION_TIMEOUT: Duration = Duration::from_secs(1);

    /// The shortest election time-out that is accepted.
    const ELECTION_TIMEOUT_MIN: Duration = Duration::from_millis(10);

    /// The longest election time-out with which a member starts.
    const ELECTION_TIMEOUT_MAX: Duration = Duration::from_secs(50);

    /// The schemes of its URLs: without TLS, and with it.
    pub const SCHEMES: &[&str] = &["etcd", "etcds"];

    /// Members of the cluster, each as `host`, `host:port` or `[address]:port`; the default port is 2379.
    pub fn new<I>(hosts: I) -> Self
    where
        I: IntoIterator,
        I::Item: Display,
    {
        Self::of(HostList::new(hosts))
    }

    fn of(hosts: HostList) -> Self {
        Self {
            hosts,
            login: Login::default(),
            tls: None,
            prefix: None,
            format: Format::default(),
            timeouts: Self::TIMEOUTS,
            election_timeout: Self::ELECTION_TIMEOUT,
        }
    }

    /// Reads the settings of a URL.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` if a value is malformed or out of range, or one of a pair is missing.
    pub fn from_settings(settings: &mut Settings) -> Result<Self> {
        settings.check_ttl(Self::TTL_MIN..=Self::TTL_MAX)?;
        let mut config = Self::of(settings.take_hosts().into());
        config.login = Login::take(settings)?;
        config.timeouts.take(settings)?;
        let election_timeout =
            settings.take_duration("election_timeout", Self::election_timeouts())?;
        config.election_timeout = election_timeout.unwrap_or(config.election_timeout);
        if settings.scheme() == "etcds" {
            config.tls = Some(Tls::take(settings)?);
        }
        config.prefix = settings.take_prefix()?;
        let formats = [
            ("concurrency", Format::Concurrency),
            ("python-etcd3", Format::PythonEtcd3),
        ];
        config.format = settings.take_choice("format", formats)?.unwrap_or_default();
        config.check().map_err(|error| settings.invalid(error))?;
        Ok(config)
    }

    /// Logs in. A [`Password::file`] is read again for each connection.
    pub fn login(mut self, user: impl Into<String>, password: impl Into<Password>) -> Self {
        self.login = Login::new(user, password);
        self
    }

    /// Encrypts the connections. Needs the cargo feature `tls`.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets the prefix of every key, of at most 128 bytes. Default `dlock/`, or that of the [`format`](Self::format).
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Sets how the name of a lock becomes keys. Default [`Concurrency`](Format::Concurrency).
    ///
    /// With [`PythonEtcd3`](Format::PythonEtcd3) dlock and the `Lock` of python-etcd3 wait for each other. The prefix is
    /// then for locks of this format only.
    pub fn format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// Sets the time limit for connecting, 10 ms to 1 min. Default 5 s.
    pub fn connect_timeout(mut self, connect_timeout: Duration) -> Self {
        self.timeouts.connect = connect_timeout;
        self
    }

    /// Sets the time limit for the reply of one member, 10 ms to 1 min. Default 2 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.reply = timeout;
        self
    }

    /// Sets what the members have as `--election-timeout`, 10 ms to 50 s. Default 1 s.
    ///
    /// `takeover_max` follows it: members grant no lease shorter than one and a half of it.
    pub fn election_timeout(mut self, election_timeout: Duration) -> Self {
        self.election_timeout = election_timeout;
        self
    }

    /// Checks all values, before any I/O (K11).
    pub(crate) fn check(&self) -> Result<()> {
        self.hosts.check()?;
        self.login.check_pair()?;
        if cfg!(not(feature = "tls")) && self.tls.is_some() {
            return Err(Tls::left_out());
        }
        self.timeouts.check()?;
        let allowed = Self::election_timeouts();
        check_duration("election_timeout", self.election_timeout, allowed)?;
        check_prefix(self.key_prefix(), Settings::PREFIX_BYTES_MAX)
    }

    /// The start of every key.
    pub(crate) fn key_prefix(&self) -> &str {
        let default = self.format.default_prefix();
        self.prefix.as_deref().unwrap_or(default)
    }

    fn election_timeouts() -> RangeInclusive<Duration> {
        Self::ELECTION_TIMEOUT_MIN..=Self::ELECTION_TIMEOUT_MAX
    }
}
