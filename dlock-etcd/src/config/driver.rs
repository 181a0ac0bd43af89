//! The settings in the driver's terms.

use std::time::Duration;

use dlock_core::{
    Result,
    config::{Host, Tls},
};
use etcd_client::ConnectOptions;
#[cfg(feature = "tls")]
use etcd_client::{Certificate, Identity, TlsOptions};

use super::EtcdConfig;

impl EtcdConfig {
    /// A silent connection with requests in flight is pinged after this. Members refuse clients that ping
    /// more often than every 5 s.
    const PING_EVERY: Duration = Duration::from_secs(10);

    /// The default port of etcd.
    const PORT: u16 = 2379;

    /// Whether connections use TLS.
    pub(crate) fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether there is a client certificate.
    pub(crate) fn has_certificate(&self) -> bool {
        self.tls.as_ref().is_some_and(Tls::has_identity)
    }

    /// The addresses of the members, each with its port.
    pub(crate) fn addresses(&self) -> Vec<String> {
        let with_port = |host: &Host| {
            let mut host = host.clone();
            host.port.get_or_insert(Self::PORT);
            host.to_string()
        };
        self.hosts.iter().map(with_port).collect()
    }

    /// The URL of a member for the driver.
    pub(crate) fn endpoint(&self, address: &str) -> String {
        let scheme = if self.has_tls() { "https" } else { "http" };
        format!("{scheme}://{address}")
    }

    /// The driver's options for a connection that is made now. Reads the password and the certificates.
    pub(crate) fn options(&self) -> Result<ConnectOptions> {
        let mut options = ConnectOptions::new()
            // A member without a leader must refuse requests.
            .with_require_leader(true)
            // The driver renews an expired login in the future of one request, and all others wait until
            // that one is polled (K13). Reconnecting does it in a task.
            .with_auto_token_refresh(false)
            .with_connect_timeout(self.timeouts.connect)
            .with_keep_alive(Self::PING_EVERY, self.timeouts.reply)
            .with_keep_alive_while_idle(false);
        if let Some((user, password)) = self.login.read()?.pair() {
            options = options.with_user(user, password.expose());
        }
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            options = options.with_tls(tls_options(tls)?);
        }
        Ok(options)
    }
}

/// The TLS options of the driver, which uses the process's provider, or names aws-lc-rs. Reads the certificates.
#[cfg(feature = "tls")]
fn tls_options(files: &Tls) -> Result<TlsOptions> {
    let options = match files.load_ca()? {
        Some(ca) => TlsOptions::new().ca_certificate(Certificate::from_pem(ca)),
        None => TlsOptions::new().with_native_roots(),
    };
    Ok(match files.load_identity()? {
        Some((cert, key)) => options.identity(Identity::from_pem(cert, key)),
        None => options,
    })
}
