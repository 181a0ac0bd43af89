//! What a ZooKeeper URL can say; strict.

use std::time::Duration;

use dlock_core::{
    Result,
    config::{Host, Secret, Settings, TlsFiles},
};

/// Which servers to use, and how.
#[derive(Clone, Debug)]
pub struct ZkConfig {
    pub(crate) hosts: Vec<Host>,
    /// The directory that takes the place of the root: empty, or with a slash before each part.
    pub(crate) chroot: String,
    /// Where the locks are, inside of it: written in the same way.
    pub(crate) prefix: String,
    pub(crate) login: Option<(String, Secret)>,
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) session: Duration,
    pub(crate) tick: Duration,
    pub(crate) connect_max: Duration,
    pub(crate) answer_max: Duration,
}

impl ZkConfig {
    /// More addresses than anybody types.
    const HOSTS_MAX: usize = 32;

    /// Locks are in this directory, apart from the data of others.
    const PREFIX: &str = "dlock";

    /// How long the servers keep a session that they do not hear of. Half of it is what a lock has
    /// after each proof; all of it blocks the locks of a holder that died.
    const SESSION: Duration = Duration::from_secs(30);

    /// What a server's configuration has if nobody changed it.
    const TICK: Duration = Duration::from_secs(2);

    /// A session has at least so many ticks: only then is half of it safe (T40).
    pub(crate) const SESSION_TICKS_MIN: u32 = 3;

    /// The longest ttl. It never blocks a lock: the session's end does.
    pub(crate) const TTL_MAX: Duration = Duration::from_secs(86_400);

    /// How long connecting may take: a login and a look at the chroot, on a slow network.
    const CONNECT_MAX: Duration = Duration::from_secs(10);

    /// How long an answer may take.
    const ANSWER_MAX: Duration = Duration::from_secs(5);

    /// Reads the settings of a URL; with `tls` of one whose scheme is `zks`.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for what is not allowed.
    pub fn from_settings(settings: &mut Settings, tls: bool) -> Result<Self> {
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
            tls: tls.then(|| TlsFiles::take(settings)).transpose()?,
            session,
            tick,
            connect_max: connect.unwrap_or(Self::CONNECT_MAX),
            answer_max: answer.unwrap_or(Self::ANSWER_MAX),
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

/// A path as the server wants it: parts with a slash before each, or nothing.
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
