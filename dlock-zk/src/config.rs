//! The settings of a ZooKeeper backend, from code or from a URL; strict.

use std::{fmt::Display, ops::RangeInclusive, time::Duration};

use dlock_core::{
    Error, ErrorKind, Result,
    config::{HostList, Login, Password, Settings, Timeouts, Tls, check_duration, check_prefix},
};

/// The settings of a ZooKeeper backend: its servers, and how to connect to them.
///
/// Setters do not fail: [`ZkLock::connect`](crate::ZkLock::connect) checks the values before any I/O, with the
/// same errors as for a URL.
///
/// ```
/// use std::time::Duration;
///
/// use dlock_core::config::Tls;
/// use dlock_zk::ZkConfig;
///
/// let config = ZkConfig::new(["zoo-1", "zoo-2:2181", "[::1]:2181"])
///     .chroot("team")
///     .login("app", "secret")
///     .tls(Tls::new().ca("/etc/dlock/ca.pem"))
///     .session(Duration::from_secs(20));
/// assert!(!format!("{config:?}").contains("secret"));
/// ```
///
/// It takes no client of yours. The driver's client moves its session to another server silently, so dlock would
/// miss when the session was last confirmed. The session's time-out bounds every lock, and other code that ends
/// the session would end them all.
#[derive(Clone, Debug)]
#[must_use = "settings do nothing until a backend is connected"]
pub struct ZkConfig {
    pub(crate) hosts: HostList,
    /// The directory that takes the place of the root: empty, or with a slash before each part.
    pub(crate) chroot: String,
    /// Where the locks are, inside of it: written in the same way.
    pub(crate) prefix: String,
    pub(crate) login: Login,
    pub(crate) tls: Option<Tls>,
    session: Option<Duration>,
    pub(crate) tick: Duration,
    pub(crate) timeouts: Timeouts,
}

impl ZkConfig {
    /// The port of a server without another one.
    pub(crate) const PORT: u16 = 2181;

    /// The default directory of the locks, apart from other data.
    const PREFIX: &str = "/dlock";

    /// The default time-out of a session. A lock has half of it after each proof. The locks of a dead holder are
    /// blocked for all of it.
    const SESSION: Duration = Duration::from_secs(30);

    /// The longest time-out of a session.
    const SESSION_MAX: Duration = Duration::from_secs(3_600);

    /// The default `tickTime` of a server.
    const TICK: Duration = Duration::from_secs(2);

    /// The bounds on a tick.
    const TICKS: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(60);

    /// The fewest ticks of a session: only then is half of it safe (T40).
    pub(crate) const SESSION_TICKS_MIN: u32 = 3;

    /// The longest ttl. It never blocks a lock: the session's end does.
    pub(crate) const TTL_MAX: Duration = Duration::from_secs(86_400);

    /// The default time-outs: for connecting with a login and the probe, on a slow network; and for a request.
    const TIMEOUTS: Timeouts = Timeouts::new(Duration::from_secs(10), Duration::from_secs(5));

    /// The schemes of its URLs: without TLS, and with it.
    pub const SCHEMES: &[&str] = &["zk", "zks"];

    /// Servers of the ensemble, each as `host`, `host:port` or `[address]:port`; the default port is 2181.
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
            chroot: String::new(),
            prefix: Self::PREFIX.to_owned(),
            login: Login::default(),
            tls: None,
            session: None,
            tick: Self::TICK,
            timeouts: Self::TIMEOUTS,
        }
    }

    /// Reads the settings of a URL.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a value that is malformed or out of range.
    pub fn from_settings(settings: &mut Settings) -> Result<Self> {
        let mut config = Self::of(settings.take_hosts().into());
        let tick = settings.take_duration("tick", Self::TICKS)?;
        config.tick = tick.unwrap_or(config.tick);
        config.session = settings.take_duration("session", config.sessions())?;
        // A lock lives for half a session without a proof.
        let session_min = *config.sessions().start();
        let ttl_min = config.session.unwrap_or(session_min) / 2;
        settings.check_ttl(ttl_min..=Self::TTL_MAX)?;
        if let (Some(ttl), None) = (settings.common().ttl, config.session) {
            let session = ttl.saturating_mul(2).min(Self::SESSION);
            config.session = Some(session.max(session_min));
        }
        config = config.chroot(settings.take_path().unwrap_or_default());
        if let Some(prefix) = settings.take_prefix()? {
            config = config.prefix(prefix);
        }
        config.login = Login::take(settings)?;
        config.timeouts.take(settings)?;
        if settings.scheme() == "zks" {
            config.tls = Some(Tls::take(settings)?);
        }
        config.check().map_err(|error| settings.invalid(error))?;
        Ok(config)
    }

    /// Sets the directory that takes the place of the root, which must exist: the path of a URL.
    pub fn chroot(mut self, chroot: impl AsRef<str>) -> Self {
        self.chroot = directory(chroot.as_ref());
        self
    }

    /// Sets the directory of the locks, of at most 128 bytes. Default `dlock`.
    pub fn prefix(mut self, prefix: impl AsRef<str>) -> Self {
        self.prefix = directory(prefix.as_ref());
        self
    }

    /// Logs in, by the scheme `digest`: only this login may change the locks. A [`Password::file`] is read again for
    /// each session.
    pub fn login(mut self, user: impl Into<String>, password: impl Into<Password>) -> Self {
        self.login = Login::new(user, password);
        self
    }

    /// Encrypts the connections. Needs the cargo feature `tls`.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets the time-out of the session, 3 ticks to 1 h. Default 30 s.
    ///
    /// The shortest ttl is half of it. The locks of a dead holder are blocked for all of it.
    pub fn session(mut self, session: Duration) -> Self {
        self.session = Some(session);
        self
    }

    /// Sets what the servers have as `tickTime`, 10 ms to 1 min. Default 2 s.
    pub fn tick(mut self, tick: Duration) -> Self {
        self.tick = tick;
        self
    }

    /// Sets the time limit for connecting, login and probe included, 10 ms to 1 min. Default 10 s.
    pub fn connect_timeout(mut self, connect_timeout: Duration) -> Self {
        self.timeouts.connect = connect_timeout;
        self
    }

    /// Sets the time limit for a reply, 10 ms to 1 min. Default 5 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.reply = timeout;
        self
    }

    /// The time-out of the session.
    pub(crate) fn session_timeout(&self) -> Duration {
        let default = Self::SESSION.max(*self.sessions().start());
        self.session.unwrap_or(default)
    }

    /// Checks all values, before any I/O (K11).
    pub(crate) fn check(&self) -> Result<()> {
        self.hosts.check()?;
        self.login.check_pair()?;
        if cfg!(not(feature = "tls")) && self.tls.is_some() {
            return Err(Tls::left_out());
        }
        self.timeouts.check()?;
        check_duration("tick", self.tick, Self::TICKS)?;
        check_duration("session", self.session_timeout(), self.sessions())?;
        check_directory("the chroot", &self.chroot)?;
        let prefix = self.prefix.trim_start_matches('/');
        check_prefix(prefix, Settings::PREFIX_BYTES_MAX)?;
        check_directory("prefix", &self.prefix)
    }

    /// The bounds on a session with this tick.
    fn sessions(&self) -> RangeInclusive<Duration> {
        self.tick.saturating_mul(Self::SESSION_TICKS_MIN)..=Self::SESSION_MAX
    }
}

/// A path in the server's syntax: a slash before each part, or nothing.
fn directory(path: &str) -> String {
    match path.trim_matches('/') {
        "" => String::new(),
        path => format!("/{path}"),
    }
}

fn check_directory(what: &str, path: &str) -> Result<()> {
    let refused = |part: &str| {
        part.is_empty()
            || matches!(part, "." | "..")
            || part.contains(|c: char| {
                c.is_control() || matches!(c, '%' | ',' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..)
            })
    };
    if path.split('/').skip(1).any(refused) {
        let why = format!(
            "{what} is a path such as team/app, without \".\", \"..\", \"%\", commas and characters \
             that ZooKeeper forbids"
        );
        return Err(Error::new(ErrorKind::InvalidConfig, why));
    }
    Ok(())
}
