//! Connections to members of etcd, as dlock-etcd has them.

use std::{error::Error as StdError, time::Duration};

use dlock_core::{
    Error, ErrorKind, Result,
    config::{Host, Login, Settings, Timeouts, Tls},
};
#[cfg(feature = "tls")]
use etcd_client::{Certificate, Identity, TlsOptions};
use etcd_client::{Client, ConnectOptions, Error as DriverError};

use super::stream::Opener;

/// dlock-etcd's own defaults.
const TIMEOUTS: Timeouts = Timeouts::new(Duration::from_secs(5), Duration::from_secs(2));
const PORT: u16 = 2379;

/// An address: host and port.
pub(crate) type Address = (String, u16);

/// The members of a URL, and how they are connected to.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    pub(crate) addresses: Vec<Address>,
    pub(crate) user: Option<String>,
    /// For pages of the members by HTTP.
    pub(crate) opener: Opener,
    scheme: &'static str,
    options: ConnectOptions,
}

impl Members {
    /// Reads the members' part of the settings, and the certificates.
    pub(crate) fn take(settings: &mut Settings) -> Result<Self> {
        let address = |host: Host| (host.name, host.port.unwrap_or(PORT));
        let addresses: Vec<_> = settings.take_hosts().into_iter().map(address).collect();
        if addresses.is_empty() {
            return Err(settings.invalid("give a member, as in etcd://127.0.0.1:2379"));
        }
        let mut timeouts = TIMEOUTS;
        timeouts.take(settings)?;
        let mut options = ConnectOptions::new()
            .with_connect_timeout(timeouts.connect)
            .with_timeout(timeouts.reply)
            .with_auto_token_refresh(false);
        let login = Login::take(settings)?.read()?;
        if let Some((user, password)) = login.pair() {
            options = options.with_user(user, password.expose());
        }
        let tls = match settings.scheme() {
            "etcds" => Some(Tls::take(settings)?),
            _ => None,
        };
        if let Some(files) = &tls {
            options = encrypted(options, files)?;
        }
        Ok(Self {
            addresses,
            user: login.user().map(str::to_owned),
            opener: Opener::new(tls.as_ref(), timeouts.connect)?,
            scheme: if tls.is_some() { "https" } else { "http" },
            options,
        })
    }

    /// Connects to the first member that answers.
    pub(crate) async fn connect_to_any(&self) -> Result<Client> {
        let mut failure = Error::new(ErrorKind::Unavailable, "no member answered");
        for address in &self.addresses {
            match self.connect(address).await {
                Ok(client) => return Ok(client),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Connects to one member.
    pub(crate) async fn connect(&self, (host, port): &Address) -> Result<Client> {
        let host = match host.contains(':') {
            true => format!("[{host}]"),
            false => host.clone(),
        };
        let endpoint = format!("{}://{host}:{port}", self.scheme);
        let client = Client::connect([endpoint], Some(self.options.clone())).await;
        client.map_err(failed)
    }
}

/// The TLS options of the driver, which uses the process's provider, or names aws-lc-rs.
#[cfg(feature = "tls")]
fn encrypted(options: ConnectOptions, files: &Tls) -> Result<ConnectOptions> {
    let tls = match files.load_ca()? {
        Some(ca) => TlsOptions::new().ca_certificate(Certificate::from_pem(ca)),
        None => TlsOptions::new().with_native_roots(),
    };
    Ok(options.with_tls(match files.load_identity()? {
        Some((cert, key)) => tls.identity(Identity::from_pem(cert, key)),
        None => tls,
    }))
}

#[cfg(not(feature = "tls"))]
fn encrypted(_: ConnectOptions, _: &Tls) -> Result<ConnectOptions> {
    Err(Tls::left_out())
}

/// The failure of the driver as an error.
pub(crate) fn failed(error: DriverError) -> Error {
    let kind = if is_denied(&error) {
        ErrorKind::Denied
    } else {
        ErrorKind::Unavailable
    };
    Error::new(kind, "the driver of etcd failed").with_source(words(&error))
}

/// The error and its causes in words. The driver's own text has the causes as Rust prints values, and names none as
/// a source.
pub(crate) fn words<'a>(error: &'a DriverError) -> String {
    let cause = |error: &&'a (dyn StdError + 'static)| (*error).source();
    let (first, below) = match error {
        DriverError::GRpcStatus(status) => (status.message().to_owned(), status.source()),
        DriverError::TransportError(transport) => (transport.to_string(), transport.source()),
        other => (other.to_string(), other.source()),
    };
    let mut words = vec![first];
    let causes = std::iter::successors(below, cause);
    words.extend(causes.map(ToString::to_string));
    // A layer often repeats the one below it.
    words.dedup();
    words.retain(|word| !word.is_empty());
    words.join(": ")
}

/// Whether the user lacks a right, or is not known.
pub(crate) fn is_denied(error: &DriverError) -> bool {
    const PERMISSION_DENIED: i32 = 7;
    const UNAUTHENTICATED: i32 = 16;
    let DriverError::GRpcStatus(status) = error else {
        return false;
    };
    // A wrong password is an invalid argument.
    matches!(
        i32::from(status.code()),
        PERMISSION_DENIED | UNAUTHENTICATED
    ) || status.message().contains("authentication failed")
}
