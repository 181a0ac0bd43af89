//! Settings of a MySQL URL; strict.

pub(crate) mod tls;

use std::{path::PathBuf, time::Duration};

use dlock_core::{
    Result,
    config::{Secret, Settings},
};

use crate::config::tls::Tls;

/// Which server to use, and how.
#[derive(Clone, Debug)]
pub struct MySqlConfig {
    pub(crate) address: Address,
    pub(crate) user: String,
    pub(crate) password: Option<Secret>,
    pub(crate) database: String,
    pub(crate) tls: Tls,
    /// Before every name.
    pub(crate) prefix: String,
    /// Connections of a locker that hold a lock or wait for one.
    pub(crate) held_max: u32,
    pub(crate) tokens: Tokens,
    /// The longest ttl; zero for any, and for grants at once after a start of the server.
    pub(crate) restart_guard: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) request_timeout: Duration,
}

/// Where the server is.
#[derive(Clone, Debug)]
pub(crate) enum Address {
    Tcp { host: String, port: u16 },
    Socket(PathBuf),
}

/// Where tokens come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tokens {
    /// The server's own count, behind an epoch for each of its starts.
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

    /// The default ttl of a locker.
    pub(crate) const RESTART_GUARD: Duration = Duration::from_secs(30);

    const PORT: u16 = 3306;

    /// The time limit for connecting: TLS, a login and a probe, on a slow network.
    const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

    /// The time limit for a reply.
    const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

    /// The schemes of its URLs; they mean the same.
    pub const SCHEMES: &[&str] = &["mysql", "mariadb"];

    /// Reads the settings of a URL.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a value that is malformed or out of range.
    pub fn from_settings(settings: &mut Settings) -> Result<Self> {
        settings.check_ttl(Self::TTL_MIN..=Self::TTL_MAX)?;
        let ten = Duration::from_millis(10);
        let minute = Duration::from_secs(60);
        let address = address(settings)?;
        let Some(user) = settings.take_user() else {
            return Err(settings.invalid("a user is missing, as in mysql://app@db-1/locks"));
        };
        let held_max = settings.take_u64("held_max", 1..=10_000)?;
        let connect = settings.take_duration("connect_timeout", ten..=minute)?;
        let answer = settings.take_duration("timeout", ten..=minute)?;
        let tls = Tls::take(settings)?;
        if tls.is_given && matches!(address, Address::Socket(_)) {
            return Err(settings.invalid("a socket is of this machine and has no TLS"));
        }
        Ok(Self {
            address,
            user,
            password: settings.take_password(),
            database: database(settings)?,
            tls,
            prefix: settings.take_prefix()?.unwrap_or_default(),
            held_max: held_max.map_or(Self::HELD_MAX, |max| {
                u32::try_from(max).unwrap_or(Self::HELD_MAX)
            }),
            tokens: tokens(settings)?,
            restart_guard: settings.take_restart_guard(Self::TTL_MAX)?,
            connect_timeout: connect.unwrap_or(Self::CONNECT_TIMEOUT),
            request_timeout: answer.unwrap_or(Self::REQUEST_TIMEOUT),
        })
    }
}

fn address(settings: &mut Settings) -> Result<Address> {
    let socket = settings.take_str("socket")?;
    let mut hosts = settings.take_hosts();
    match (hosts.pop(), socket) {
        _ if !hosts.is_empty() => Err(settings.invalid(
            "one server grants locks: give the primary's address, or one that leads to it",
        )),
        // As to the mysql client; a user has no place in a URL without a host.
        (Some(host), Some(path)) if host.name == "localhost" && host.port.is_none() => {
            Ok(Address::Socket(path.into()))
        }
        (Some(_), Some(_)) => Err(settings.invalid("the host of socket= is localhost")),
        (None, Some(path)) => Ok(Address::Socket(path.into())),
        (Some(host), None) => Ok(Address::Tcp {
            host: host.name,
            port: host.port.unwrap_or(MySqlConfig::PORT),
        }),
        (None, None) => Err(settings.invalid("a server is missing, such as 127.0.0.1, or socket=")),
    }
}

fn tokens(settings: &mut Settings) -> Result<Tokens> {
    match settings.take_str("token")?.as_deref() {
        None | Some("epoch") => Ok(Tokens::Epoch),
        Some("committed") => Ok(Tokens::Committed),
        Some(other) => {
            Err(settings.invalid(format!("token={other}: allowed are epoch and committed")))
        }
    }
}

fn database(settings: &mut Settings) -> Result<String> {
    let path = settings.take_path().unwrap_or_default();
    let database = path.trim_start_matches('/');
    if database.is_empty() || database.contains('/') {
        let why = "after the server comes the database of the locks, as in mysql://app@db-1/locks";
        return Err(settings.invalid(why));
    }
    Ok(database.to_owned())
}
