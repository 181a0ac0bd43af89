//! The settings of a MySQL backend, and their checks.

use std::{fmt::Display, ops::RangeInclusive, path::PathBuf, time::Duration};

use dlock_core::{
    Error, ErrorKind, Result,
    config::{
        HostList, Login, Password, Settings, Timeouts, Tls, check_duration, check_prefix, check_u64,
    },
};

use super::{
    address::{self, Address},
    base::BaseOptions,
    tls::{Encryption, TlsMode},
};

/// The settings of a MySQL backend: its server, and how to connect to it.
///
/// Setters do not fail: [`MySqlLock::connect`](crate::MySqlLock::connect) checks the values before any I/O, with
/// the same errors as for a URL.
///
/// ```
/// use std::time::Duration;
///
/// use dlock_core::config::Tls;
/// use dlock_mysql::MySqlConfig;
///
/// let config = MySqlConfig::new("db-1", "app", "locks")
///     .password("secret")
///     .tls(Tls::new().ca("/etc/dlock/ca.pem"))
///     .timeout(Duration::from_secs(1));
/// assert!(!format!("{config:?}").contains("secret"));
///
/// let config = MySqlConfig::socket("/run/mysqld/mysqld.sock", "app", "locks").held_max(16);
/// # let _ = config;
/// ```
///
/// It takes no pool or connection of yours. A pool replaces connections silently, so dlock would miss the end of
/// a session, and with it of its locks. A statement of other code on a shared connection could outlast a ttl, and
/// its `COMMIT` would free the lock.
#[derive(Clone, Debug)]
#[must_use = "settings do nothing until a backend is connected"]
pub struct MySqlConfig {
    pub(super) hosts: HostList,
    pub(super) socket: Option<PathBuf>,
    pub(crate) login: Login,
    pub(crate) database: String,
    pub(super) encryption: Encryption,
    /// Before every name.
    pub(crate) prefix: String,
    /// Connections of a locker that hold a lock or wait for one.
    pub(crate) held_max: u32,
    pub(crate) tokens: TokenSource,
    /// The longest ttl; zero for any, and for grants at once after a start of the server.
    pub(crate) restart_guard: Duration,
    pub(crate) timeouts: Timeouts,
    /// The options of the driver that the others are added to, if the user gave some.
    pub(super) base: Option<BaseOptions>,
}

/// Where tokens come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenSource {
    /// The server's own count, behind an epoch for each of its starts.
    #[default]
    Epoch,
    /// A counter that each grant commits, for servers without `UUID_SHORT()`.
    Committed,
}

impl MySqlConfig {
    /// `wait_timeout`, which ends a hold, counts whole seconds.
    pub(crate) const TTL_MIN: Duration = Duration::from_secs(1);

    /// The longest ttl: as long blocks a lock whose host vanished.
    pub(crate) const TTL_MAX: Duration = Duration::from_secs(86_400);

    /// A server has 151 connections by default, and others need some.
    pub(crate) const HELD_MAX: u32 = 64;

    /// The bounds on `held_max`.
    const HELD: RangeInclusive<u64> = 1..=10_000;

    /// The default longest ttl: the default ttl of a locker.
    pub(crate) const RESTART_GUARD: Duration = Duration::from_secs(30);

    /// The default time-outs: for connecting with TLS, a login and a probe, on a slow network; and for a reply.
    const TIMEOUTS: Timeouts = Timeouts::new(Duration::from_secs(5), Duration::from_secs(2));

    /// The schemes of its URLs; they mean the same.
    pub const SCHEMES: &[&str] = &["mysql", "mariadb"];

    /// The server at `host`, which may be `host:port` or `[address]:port`; the default port is 3306.
    pub fn new(host: impl Display, user: impl Into<String>, database: impl Into<String>) -> Self {
        let user = Login::from_parts(Some(user.into()), None);
        Self::of(HostList::new([host]), user, database.into())
    }

    /// The server of this machine that listens at the Unix socket `path`.
    pub fn socket(
        path: impl Into<PathBuf>,
        user: impl Into<String>,
        database: impl Into<String>,
    ) -> Self {
        let user = Login::from_parts(Some(user.into()), None);
        let config = Self::of(HostList::default(), user, database.into());
        Self {
            socket: Some(path.into()),
            ..config
        }
    }

    pub(super) fn of(hosts: HostList, login: Login, database: String) -> Self {
        Self {
            hosts,
            socket: None,
            login,
            database,
            encryption: Encryption::default(),
            prefix: String::new(),
            held_max: Self::HELD_MAX,
            tokens: TokenSource::default(),
            restart_guard: Self::RESTART_GUARD,
            timeouts: Self::TIMEOUTS,
            base: None,
        }
    }

    /// Reads the settings of a URL.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a value that is malformed or out of range.
    pub fn from_settings(settings: &mut Settings) -> Result<Self> {
        settings.check_ttl(Self::TTL_MIN..=Self::TTL_MAX)?;
        let (hosts, socket) = address::take(settings)?;
        let login = Login::take(settings)?;
        let database = settings.take_path().unwrap_or_default();
        let mut config = Self::of(hosts, login, database.trim_start_matches('/').to_owned());
        config.socket = socket;
        let held_max = settings.take_u64("held_max", Self::HELD)?;
        if let Some(max) = held_max.and_then(|max| u32::try_from(max).ok()) {
            config.held_max = max;
        }
        config.timeouts.take(settings)?;
        config.encryption = Encryption::take(settings)?;
        config.prefix = settings.take_prefix()?.unwrap_or_default();
        let tokens = [
            ("epoch", TokenSource::Epoch),
            ("committed", TokenSource::Committed),
        ];
        config.tokens = settings.take_choice("token", tokens)?.unwrap_or_default();
        config.restart_guard = settings.take_restart_guard(Self::TTL_MAX)?;
        config.check().map_err(|error| settings.invalid(error))?;
        Ok(config)
    }

    /// Sets the password of the user. A [`Password::file`] is read again for each connection.
    pub fn password(mut self, password: impl Into<Password>) -> Self {
        let user = self.login.user().map(str::to_owned);
        self.login = Login::from_parts(user, Some(password.into()));
        self
    }

    /// Sets the files of TLS; the server's certificate and name are then verified, unless
    /// [`tls_mode`](Self::tls_mode) says otherwise. Needs the cargo feature `tls`.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.encryption.tls = Some(tls);
        self
    }

    /// Sets whether connections are encrypted, and what is verified: the key `tls`. Default
    /// [`Preferred`](TlsMode::Preferred).
    pub fn tls_mode(mut self, mode: TlsMode) -> Self {
        self.encryption.mode = Some(mode);
        self
    }

    /// Puts `prefix` before every name, of at most 128 bytes. Default: empty.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets how many locks a locker may hold or await at a time, 1 to 10,000: each has a connection. Default 64.
    pub fn held_max(mut self, held_max: u32) -> Self {
        self.held_max = held_max;
        self
    }

    /// Sets where tokens come from: the key `token`. Default [`Epoch`](TokenSource::Epoch).
    pub fn token(mut self, tokens: TokenSource) -> Self {
        self.tokens = tokens;
        self
    }

    /// Sets how long a server grants nothing after a start or a promotion, at most 1 day. Default 30 s.
    ///
    /// A ttl must not be longer. Zero turns the guard off.
    pub fn restart_guard(mut self, restart_guard: Duration) -> Self {
        self.restart_guard = restart_guard;
        self
    }

    /// Sets the time limit for connecting, login and probe included, 10 ms to 1 min. Default 5 s.
    pub fn connect_timeout(mut self, connect_timeout: Duration) -> Self {
        self.timeouts.connect = connect_timeout;
        self
    }

    /// Sets the time limit for a reply, 10 ms to 1 min. Default 2 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.reply = timeout;
        self
    }

    /// Where the server is, in settings that were checked.
    pub(crate) fn address(&self) -> Address {
        Address::of(&self.hosts, self.socket.as_deref())
    }

    /// Checks all values, before any I/O (K11).
    pub(crate) fn check(&self) -> Result<()> {
        let invalid = |why: &'static str| Err(Error::new(ErrorKind::InvalidConfig, why));
        address::check(&self.hosts, self.socket.as_deref())?;
        if self.login.user().is_none() {
            return invalid("a user is missing, as in mysql://app@db-1/locks");
        }
        self.login.check()?;
        if self.database.is_empty() || self.database.contains('/') {
            return invalid(
                "after the server comes the database of the locks, as in mysql://app@db-1/locks",
            );
        }
        self.encryption.check(&self.address())?;
        check_u64("held_max", self.held_max.into(), Self::HELD)?;
        self.timeouts.check()?;
        check_duration(
            "restart_guard",
            self.restart_guard,
            Duration::ZERO..=Self::TTL_MAX,
        )?;
        check_prefix(&self.prefix, Settings::PREFIX_BYTES_MAX)
    }
}
