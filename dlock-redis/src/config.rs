//! What a Redis URL can say; strict.

use std::time::Duration;

use dlock_core::{
    Error, ErrorKind, Result,
    config::{Host, Secret, Settings},
};
use redis::{
    Client, ClientTlsConfig, ConnectionAddr, IntoConnectionInfo as _, ProtocolVersion,
    RedisConnectionInfo, TlsCertificates,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};

/// Which server to use, and how.
#[derive(Clone, Debug)]
pub struct RedisConfig {
    host: Host,
    user: Option<String>,
    password: Option<Secret>,
    database: i64,
    tls: Option<Tls>,
    pub(crate) prefix: String,
    pub(crate) connect_max: Duration,
    pub(crate) answer_max: Duration,
    pub(crate) restart_guard: Duration,
    pub(crate) may_evict: bool,
}

#[derive(Clone, Debug, Default)]
struct Tls {
    ca: Option<String>,
    /// Certificate and key of the client.
    client: Option<(String, String)>,
}

impl RedisConfig {
    /// Names are keys with this before them, apart from the data of others.
    const PREFIX: &str = "dlock:";

    /// The shortest ttl: some round trips on a slow network, and three renewals.
    pub(crate) const TTL_MIN: Duration = Duration::from_millis(100);

    /// The longest ttl: as long blocks a lock whose holder died.
    pub(crate) const TTL_MAX: Duration = Duration::from_secs(86_400);

    /// How long a server that may have forgotten its locks grants none after its start.
    const RESTART_GUARD: Duration = Duration::from_secs(30);

    /// Reads the settings of a `redis://` URL, or with `tls` of a `rediss://` one.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for what is not allowed.
    pub fn from_settings(settings: &mut Settings, tls: bool) -> Result<Self> {
        settings.check_ttl(Self::TTL_MIN..=Self::TTL_MAX)?;
        let mut hosts = settings.take_hosts();
        if hosts.len() != 1 {
            return Err(settings.refuse("redis: takes one server, such as redis://127.0.0.1:6379"));
        }
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        let ten = Duration::from_millis(10);
        let times = settings.take_duration("connect_timeout", ten..=minute)?;
        let answers = settings.take_duration("timeout", ten..=minute)?;
        let guard = settings.take_duration("restart_guard", Duration::ZERO..=Self::TTL_MAX)?;
        Ok(Self {
            host: hosts.remove(0),
            user: settings.take_user(),
            password: settings.take_password(),
            database: database(settings)?,
            tls: tls.then(|| Tls::take(settings)).transpose()?,
            prefix: prefix(settings)?,
            connect_max: times.unwrap_or(5 * second),
            answer_max: answers.unwrap_or(2 * second),
            restart_guard: guard.unwrap_or(Self::RESTART_GUARD),
            may_evict: settings.take_bool("may_evict")?.unwrap_or(false),
        })
    }

    /// Whether connections are encrypted.
    pub(crate) fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// The driver's client. Reads the certificates.
    pub(crate) fn client(&self) -> Result<Client> {
        let port = self.host.port.unwrap_or(6379);
        let host = self.host.name.clone();
        let address = match self.tls {
            None => ConnectionAddr::Tcp(host, port),
            Some(_) => ConnectionAddr::TcpTls {
                host,
                port,
                insecure: false,
                tls_params: None,
            },
        };
        let mut login = RedisConnectionInfo::default()
            .set_protocol(ProtocolVersion::RESP3)
            .set_db(self.database)
            .set_lib_name("dlock", env!("CARGO_PKG_VERSION"));
        if let Some(user) = &self.user {
            login = login.set_username(user);
        }
        if let Some(password) = &self.password {
            login = login.set_password(password.expose());
        }
        let refused = |error: redis::RedisError| {
            Error::new(ErrorKind::InvalidConfig, "the driver refuses the settings")
                .with_source(error)
        };
        let info = address
            .into_connection_info()
            .map_err(refused)?
            .set_redis_settings(login);
        // A program in which another crate turned on a second provider would panic without a choice.
        // If it has made one itself, that counts.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        match &self.tls {
            None => Client::open(info).map_err(refused),
            Some(tls) => Client::build_with_tls(info, tls.certificates()?).map_err(refused),
        }
    }
}

impl Tls {
    fn take(settings: &mut Settings) -> Result<Self> {
        let ca = settings.take_str("tls_ca")?;
        let client = match (
            settings.take_str("tls_cert")?,
            settings.take_str("tls_key")?,
        ) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            // K11: never fall back to something weaker than what was meant.
            _ => return Err(settings.refuse("tls_cert and tls_key go together, one is missing")),
        };
        Ok(Self { ca, client })
    }

    fn certificates(&self) -> Result<TlsCertificates> {
        let root_cert = self.ca.as_deref().map(read_certificates).transpose()?;
        let client = self.client.as_ref().map(|(cert, key)| {
            Ok::<_, Error>(ClientTlsConfig {
                client_cert: read_certificates(cert)?,
                client_key: read_key(key)?,
            })
        });
        Ok(TlsCertificates {
            client_tls: client.transpose()?,
            root_cert,
        })
    }
}

/// The driver takes a file without a certificate, and trusts nobody then.
fn read_certificates(path: &str) -> Result<Vec<u8>> {
    let text = read(path)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(text),
        Ok(_) => Err(unfit(path, "certificate")),
        Err(error) => Err(unfit(path, "certificate").with_source(error)),
    }
}

fn read_key(path: &str) -> Result<Vec<u8>> {
    let text = read(path)?;
    match PrivateKeyDer::from_pem_slice(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(unfit(path, "private key").with_source(error)),
    }
}

fn unfit(path: &str, what: &str) -> Error {
    let why = format!("{path} has no {what} in PEM form");
    Error::new(ErrorKind::InvalidConfig, why)
}

fn read(path: &str) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| {
        let why = format!("cannot read {path}");
        Error::new(ErrorKind::InvalidConfig, why).with_source(error)
    })
}

/// The database in the path: `/3`.
fn database(settings: &mut Settings) -> Result<i64> {
    let Some(path) = settings.take_path() else {
        return Ok(0);
    };
    match path.trim_start_matches('/') {
        "" => Ok(0),
        number if number.len() <= 4 && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            Ok(number.parse().unwrap_or(0))
        }
        _ => Err(settings.refuse("after the server comes the number of its database, such as /0")),
    }
}

/// Braces would take the keys of a name apart in a cluster.
fn prefix(settings: &mut Settings) -> Result<String> {
    let prefix = settings
        .take_prefix()?
        .unwrap_or_else(|| RedisConfig::PREFIX.to_owned());
    if prefix.contains(['{', '}', '%']) {
        return Err(settings.refuse("a prefix for Redis has no braces and no percent signs"));
    }
    Ok(prefix)
}
