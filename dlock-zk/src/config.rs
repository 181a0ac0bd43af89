//! The settings of a ZooKeeper URL; strict.

use std::time::Duration;

use dlock_core::{
    Result,
    config::{Host, Secret, Settings, Tls},
};

/// The servers to use, and how.
#[derive(Clone, Debug)]
pub struct ZkConfig {
    pub(crate) hosts: Vec<Host>,
    /// The directory that takes the place of the root: empty, or with a slash before each part.
    pub(crate) chroot: String,
    /// Where the locks are, inside of it: written in the same way.
    pub(crate) prefix: String,
    pub(crate) login: Option<(String, Secret)>,
    pub(crate) tls: Option<Tls>,
    pub(crate) session: Duration,
    pub(crate) tick: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) request_timeout: Duration,
}

impl ZkConfig {
    /// More addresses than people type.
    const HOSTS_MAX: usize = 32;

    /// The port of a server without another one in the URL.
    pub(crate) const PORT: u16 = 2181;

    /// The default directory of the locks, apart from other data.
    const PREFIX: &str = "dlock";

    /// The default time-out of a session. A lock has half of it after each proof. The locks of a dead holder are
    /// blocked for all of it.
    const SESSION: Duration = Duration::from_secs(30);

    /// The default `tickTime` of a server.
    const TICK: Duration = Duration::from_secs(2);

    /// The fewest ticks of a session: only then is half of it safe (T40).
    pub(crate) const SESSION_TICKS_MIN: u32 = 3;

    /// The longest ttl. It never blocks a lock: the session's end does.
    pub(crate) const TTL_MAX: Duration = Duration::from_secs(86_400);

    /// The default connect time-out: for a login and the probe, on a slow network.
    const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

    /// The default time-out of a request.
    const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

    /// The schemes of its URLs: without TLS, and with it.
    pub const SCHEMES: &[&str] = &["zk", "zks"];

    /// Reads the settings of a URL.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a value that is malformed or out of range.
    pub fn from_settings(settings: &mut Settings) -> Result<Self> {
        let has_tls = settings.scheme() == "zks";
        let hosts = settings.take_hosts();
        if hosts.is_empty() {
            return Err(settings.invalid("a server is missing, such as zk://127.0.0.1"));
        }
        if hosts.len() > Self::HOSTS_MAX {
            return Err(settings.invalid("at most 32 servers are given"));
        }
        let (session, tick) = session(settings)?;
        let chroot = settings.take_path().unwrap_or_default();
        let prefix = settings.take_prefix()?;
        let login = login(settings)?;
        let (ms, minute) = (Duration::from_millis(10), Duration::from_secs(60));
        let connect = settings.take_duration("connect_timeout", ms..=minute)?;
        let answer = settings.take_duration("timeout", ms..=minute)?;
        Ok(Self {
            hosts,
            chroot: directory(settings, "the chroot", &chroot)?,
            prefix: directory(
                settings,
                "prefix",
                prefix.as_deref().unwrap_or(Self::PREFIX),
            )?,
            login,
            tls: has_tls.then(|| Tls::take(settings)).transpose()?,
            session,
            tick,
            connect_timeout: connect.unwrap_or(Self::CONNECT_TIMEOUT),
            request_timeout: answer.unwrap_or(Self::REQUEST_TIMEOUT),
        })
    }
}

/// The session's time-out and the servers' tick.
fn session(settings: &mut Settings) -> Result<(Duration, Duration)> {
    let (ms, minute) = (Duration::from_millis(10), Duration::from_secs(60));
    let tick = settings.take_duration("tick", ms..=minute)?;
    let tick = tick.unwrap_or(ZkConfig::TICK);
    let (min, hour) = (tick * ZkConfig::SESSION_TICKS_MIN, minute * 60);
    let session = settings.take_duration("session", min..=hour)?;
    // A lock lives for half a session without a proof.
    let ttl_min = session.unwrap_or(min) / 2;
    settings.check_ttl(ttl_min..=ZkConfig::TTL_MAX)?;
    let of_ttl = settings.common().ttl.map(|ttl| ttl.saturating_mul(2));
    let default = of_ttl.map_or(ZkConfig::SESSION, |ttl| ttl.min(ZkConfig::SESSION));
    Ok((session.unwrap_or_else(|| default.max(min)), tick))
}

fn login(settings: &mut Settings) -> Result<Option<(String, Secret)>> {
    match (settings.take_user(), settings.take_password()) {
        (None, None) => Ok(None),
        (Some(user), Some(password)) => Ok(Some((user, password))),
        _ => Err(settings.invalid("a login is a user and a password, one is missing")),
    }
}

/// A path in the server's syntax: a slash before each part, or nothing.
fn directory(settings: &Settings, what: &str, path: &str) -> Result<String> {
    let path = path.trim_matches('/');
    if path.is_empty() {
        return Ok(String::new());
    }
    let refused = |part: &str| {
        part.is_empty()
            || matches!(part, "." | "..")
            || part.contains(|c: char| {
                c.is_control() || matches!(c, '%' | ',' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..)
            })
    };
    if path.split('/').any(refused) {
        let why = format!(
            "{what} is a path such as team/app, without \".\", \"..\", \"%\", commas and characters \
             that ZooKeeper forbids"
        );
        return Err(settings.invalid(why));
    }
    Ok(format!("/{path}"))
}
