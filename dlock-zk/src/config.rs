//! The settings of a ZooKeeper backend, from code or from a URL; strict.

use std::{fmt::Display, ops::RangeInclusive, time::Duration};

use dlock_core::{
    Error, ErrorKind, Result,
    config::{HostList, Login, Password, Settings, Timeouts, Tls, check_duration, check_prefix},
};

use crate::keys::Format;

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
    pub(crate) format: Format,
    pub(crate) login: Login,
    pub(crate) tls: Option<Tls>,
    session: Option<Duration>,
    /// The ttl of locks without one of their own, which has a session of its length.
    ttl: Option<Duration>,
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

    /// The ticks of the shortest session that servers give by default.
    pub(crate) const TICKS_OF_SHORTEST: u32 = 2;

    /// The shortest ttl, unless a shorter session is chosen (K11). Its session is longer, so the servers free the lock of
    /// a dead holder later.
    const TTL_MIN: Duration = Duration::from_secs(1);

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
            format: Format::default(),
            login: Login::default(),
            tls: None,
            session: None,
            ttl: None,
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
        settings.check_ttl(config.ttl_min()..=Self::TTL_MAX)?;
        config.ttl = settings.common().ttl;
        config = config.chroot(settings.take_path().unwrap_or_default());
        if let Some(prefix) = settings.take_prefix()? {
            config = config.prefix(prefix);
        }
        let formats = [("curator", Format::Curator), ("kazoo", Format::Kazoo)];
        config.format = settings.take_choice("format", formats)?.unwrap_or_default();
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

    /// Sets how the nodes of a queue are named. Default [`Curator`](Format::Curator).
    ///
    /// With [`Kazoo`](Format::Kazoo) dlock and kazoo's `Lock` wait for each other. The prefix is then for locks of this
    /// format only.
    pub fn format(mut self, format: Format) -> Self {
        self.format = format;
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

    /// Sets the time-out of the session of all locks, 3 ticks to 1 h. By default locks have sessions by their ttl:
    /// twice the ttl at least where that is 30 s at most, and 30 s for longer ttls.
    ///
    /// The locks of a dead holder are blocked for all of it, also those with a shorter ttl.
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

    /// The time-out of the longest session.
    pub(crate) fn session_timeout(&self) -> Duration {
        let ttl = self.ttl.unwrap_or(Self::SESSION).saturating_mul(2);
        let longest = ttl.min(Self::SESSION).max(self.shortest_session());
        self.session.unwrap_or(longest)
    }

    /// The time-outs of the other sessions that locks may have, each longer than the one before.
    pub(crate) fn shorter_sessions(&self) -> impl Iterator<Item = Duration> + use<> {
        let (shortest, longest) = (self.shortest_session(), self.session_timeout());
        let double = |session: &Duration| Some(session.saturating_mul(2));
        let sessions = std::iter::successors(Some(shortest), double);
        sessions.take_while(move |session| *session < longest)
    }

    /// Whether a session is longer than requested where the servers need that. Not if the user has chosen it, and not
    /// from the default length on.
    pub(crate) fn may_be_raised(&self, session: Duration) -> bool {
        self.session.is_none() && session < Self::SESSION
    }

    /// A session for servers with this tick.
    pub(crate) fn raised(session: Duration, tick: Duration) -> Duration {
        let needed = tick.saturating_mul(Self::SESSION_TICKS_MIN);
        session.max(needed.min(Self::SESSION))
    }

    fn shortest_session(&self) -> Duration {
        let shortest = (Self::TTL_MIN * 2).max(*self.sessions().start());
        self.session.unwrap_or(shortest)
    }

    /// The shortest ttl.
    pub(crate) fn ttl_min(&self) -> Duration {
        Self::TTL_MIN.min(self.shortest_session() / 2)
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

#[cfg(test)]
mod tests {
    use dlock_core::config::Config;

    use super::*;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn of(url: &str) -> ZkConfig {
        let config = Config::from_url(url).expect("a URL");
        let mut settings = Settings::of(&config).expect("settings");
        ZkConfig::from_settings(&mut settings).expect("settings")
    }

    #[test]
    fn sessions_double_up_to_the_longest() {
        for (url, sessions, ttl_min) in [
            ("zk://h", &[6, 12, 24, 30][..], secs(1)),
            ("zk://h?ttl=10s", &[6, 12, 20], secs(1)),
            ("zk://h?ttl=1s", &[6], secs(1)),
            ("zk://h?ttl=1day", &[6, 12, 24, 30], secs(1)),
            ("zk://h?tick=20s", &[60], secs(1)),
            ("zk://h?tick=10ms&ttl=4s", &[2, 4, 8], secs(1)),
            ("zk://h?session=40s", &[40], secs(1)),
            ("zk://h?tick=10ms&session=1s", &[1], secs(1) / 2),
        ] {
            let config = of(url);
            let expected: Vec<_> = sessions.iter().map(|session| secs(*session)).collect();
            let longest = [config.session_timeout()];
            let found: Vec<_> = config.shorter_sessions().chain(longest).collect();
            assert_eq!(found, expected, "{url}");
            assert_eq!(config.ttl_min(), ttl_min, "{url}");
        }
    }
}
