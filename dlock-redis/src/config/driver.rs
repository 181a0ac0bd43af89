//! The driver's settings become ours.

use dlock_core::{
    Error, ErrorKind, Result,
    config::{HostList, Login, Tls},
};
use redis::{ConnectionAddr, ConnectionInfo};

use super::{builder::RedisConfig, topology::Topology};

/// Takes address, login, database and TCP settings of one server. Needs the cargo feature `driver-api`.
///
/// The connections are dlock's own, over RESP3. A client has the settings, too: `client.get_connection_info()`.
///
/// ```
/// use dlock_redis::{RedisConfig, redis::IntoConnectionInfo as _};
///
/// let info = "redis://app:secret@db-1:6380/2".into_connection_info().unwrap();
/// let config = RedisConfig::try_from(info)?.min_acks(1);
/// # let _ = config;
/// # Ok::<(), dlock_core::Error>(())
/// ```
impl TryFrom<ConnectionInfo> for RedisConfig {
    type Error = Error;

    /// # Errors
    ///
    /// `InvalidConfig` for a Unix socket, for certificates that only the driver can read, which
    /// [`tls`](RedisConfig::tls) takes by their files, and for TLS that verifies no names.
    fn try_from(info: ConnectionInfo) -> Result<Self> {
        let (host, port, tls) = match info.addr() {
            ConnectionAddr::Tcp(host, port) => (host, port, None),
            ConnectionAddr::TcpTls {
                host,
                port,
                insecure: false,
                tls_params: None,
            } => (host, port, Some(Tls::new())),
            ConnectionAddr::TcpTls { insecure: true, .. } => {
                return Err(invalid("dlock verifies the names in certificates"));
            }
            ConnectionAddr::TcpTls { .. } => {
                return Err(invalid(
                    "certificates in the driver's settings cannot be read; give their files by tls()",
                ));
            }
            _ => return Err(invalid("a server of Redis is reached by TCP")),
        };
        let host = match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        };
        let settings = info.redis_settings();
        let database = u16::try_from(settings.db());
        let login = Login::from_parts(
            settings.username().map(str::to_owned),
            settings.password().map(Into::into),
        );
        Ok(Self {
            login,
            tls,
            tcp: info.tcp_settings().clone(),
            database: database.map_err(|_| invalid("the database is out of range (0 to 9999)"))?,
            ..Self::of(Topology::Server, HostList::new([host]))
        })
    }
}

fn invalid(why: &'static str) -> Error {
    Error::new(ErrorKind::InvalidConfig, why)
}

#[cfg(test)]
mod tests {
    use redis::IntoConnectionInfo as _;

    use super::*;

    #[test]
    fn the_settings_of_the_driver_are_kept() {
        let info = "redis://app:s3cret@[::1]:6380/2".into_connection_info();
        let config = RedisConfig::try_from(info.expect("settings")).expect("config");
        config.check().expect("right");
        let host = config.hosts.iter().next().expect("a host");
        assert_eq!(host.to_string(), "[::1]:6380");
        assert_eq!(config.login, Login::new("app", "s3cret"));
        assert_eq!((config.database, config.tls.is_some()), (2, false));
        assert!(!format!("{config:?}").contains("s3cret"));
    }

    #[test]
    fn what_would_be_weaker_or_ignored_is_refused() {
        let tls = |insecure| ConnectionAddr::TcpTls {
            host: "h".to_owned(),
            port: 1,
            insecure,
            tls_params: None,
        };
        for (address, right) in [
            (tls(false), true),
            (tls(true), false),
            (ConnectionAddr::Unix("/run/redis.sock".into()), false),
        ] {
            let info = address.into_connection_info().expect("settings");
            assert_eq!(RedisConfig::try_from(info).is_ok(), right);
        }
    }
}
