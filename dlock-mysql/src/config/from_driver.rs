//! The driver's settings become ours.

use dlock_core::{
    Error, ErrorKind, Result,
    config::{HostList, Login},
};
use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};

use super::{
    base::BaseOptions,
    builder::MySqlConfig,
    tls::{Encryption, TlsMode},
};

/// Takes address, login, database and TLS. Needs the cargo feature `driver-api`.
///
/// The connections are dlock's own; their character set, time zone and log of statements are, too.
///
/// ```
/// use dlock_mysql::{MySqlConfig, sqlx::mysql::MySqlConnectOptions};
///
/// let options = MySqlConnectOptions::new().host("db-1").username("app").password("secret").database("locks");
/// let config = MySqlConfig::try_from(options)?.held_max(16);
/// # let _ = config;
/// # Ok::<(), dlock_core::Error>(())
/// ```
impl TryFrom<MySqlConnectOptions> for MySqlConfig {
    type Error = Error;

    /// # Errors
    ///
    /// `InvalidConfig` without a database.
    fn try_from(options: MySqlConnectOptions) -> Result<Self> {
        let Some(database) = options.get_database() else {
            let why = "the database of the locks is missing in the driver's settings";
            return Err(Error::new(ErrorKind::InvalidConfig, why));
        };
        let (host, port) = (options.get_host(), options.get_port());
        let host = match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        };
        let socket = options.get_socket().cloned();
        let hosts = match socket {
            Some(_) => HostList::default(),
            None => HostList::new([host]),
        };
        let user = Login::from_parts(Some(options.get_username().to_owned()), None);
        let mode = match options.get_ssl_mode() {
            MySqlSslMode::Disabled => Some(TlsMode::Disabled),
            // The default, also of a socket.
            MySqlSslMode::Preferred => None,
            MySqlSslMode::Required => Some(TlsMode::Required),
            MySqlSslMode::VerifyCa => Some(TlsMode::VerifyCa),
            MySqlSslMode::VerifyIdentity => Some(TlsMode::VerifyIdentity),
        };
        let config = Self::of(hosts, user, database.to_owned());
        Ok(Self {
            socket,
            encryption: Encryption { tls: None, mode },
            base: Some(BaseOptions(options)),
            ..config
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_the_driver_are_kept() {
        let options = MySqlConnectOptions::new()
            .host("::1")
            .port(3307)
            .username("app")
            .password("s3cret")
            .ssl_mode(MySqlSslMode::Required);
        assert!(MySqlConfig::try_from(options.clone()).is_err());
        let config = MySqlConfig::try_from(options.database("locks")).expect("config");
        config.check().expect("right");
        assert!(!format!("{config:?}").contains("s3cret"));
        let found = config.with_tls(config.options()).expect("options");
        assert_eq!((found.get_host(), found.get_port()), ("::1", 3307));
        assert_eq!(
            (found.get_username(), found.get_database()),
            ("app", Some("locks"))
        );
        assert!(matches!(found.get_ssl_mode(), MySqlSslMode::Required));
        // The driver does not show it otherwise.
        assert!(format!("{found:?}").contains("s3cret"));
    }
}
