//! The settings of an etcd backend, and the keys of its URL; strict.

use std::time::Duration;

use dlock_core::{
    Result,
    config::{Host, Secret, Settings, Tls},
};
use etcd_client::{Certificate, ConnectOptions, Identity, TlsOptions};

/// The settings of an etcd backend: its members, and how to connect to them.
#[derive(Clone, Debug)]
pub struct EtcdConfig {
    hosts: Vec<Host>,
    user: Option<(String, Secret)>,
    tls: Option<Tls>,
    pub(crate) prefix: String,
    pub(crate) connect_timeout: Duration,
    pub(crate) request_timeout: Duration,
    election_timeout: Duration,
}

impl EtcdConfig {
    /// The default prefix of all keys: separates locks from other data.
    const PREFIX: &str = "dlock/";

    /// The shortest ttl: etcd counts whole seconds.
    pub(crate) const TTL_MIN: Duration = Duration::from_secs(1);

    /// The longest ttl: the lock of a dead holder is blocked for as long.
    pub(crate) const TTL_MAX: Duration = Duration::from_secs(86_400);

    /// The default time-out of a connection: enough for a login on a slow network.
    const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

    /// The default time-out of one member's reply: then the next member gets the request.
    const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

    /// The default of a member's `--election-timeout`.
    const ELECTION_TIMEOUT: Duration = Duration::from_secs(1);

    /// The longest election time-out with which a member starts.
    const ELECTION_TIMEOUT_MAX: Duration = Duration::from_secs(50);

    /// Members check for expired leases twice a second, and must agree on each.
    const END_SLACK: Duration = Duration::from_secs(1);

    /// A silent connection with requests in flight is pinged after this. Members refuse clients that ping
    /// more often than every 5 s.
    const PING_EVERY: Duration = Duration::from_secs(10);

    /// The default port of etcd.
    const PORT: u16 = 2379;

    /// The schemes of its URLs: without TLS, and with it.
    pub const SCHEMES: &[&str] = &["etcd", "etcds"];

    /// Reads the settings of a URL.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` if a value is malformed or out of range, or one of a pair is missing.
    pub fn from_settings(settings: &mut Settings) -> Result<Self> {
        let has_tls = settings.scheme() == "etcds";
        settings.check_ttl(Self::TTL_MIN..=Self::TTL_MAX)?;
        let hosts = settings.take_hosts();
        if hosts.is_empty() {
            return Err(settings.invalid("etcd: needs a member, such as etcd://127.0.0.1:2379"));
        }
        let user = match (settings.take_user(), settings.take_password()) {
            (Some(user), Some(password)) => Some((user, password)),
            (None, None) => None,
            _ => return Err(settings.invalid("etcd: takes a user and a password, or neither")),
        };
        let (ten, minute) = (Duration::from_millis(10), Duration::from_secs(60));
        let connect_timeout = settings.take_duration("connect_timeout", ten..=minute)?;
        let request_timeout = settings.take_duration("timeout", ten..=minute)?;
        let election_timeout =
            settings.take_duration("election_timeout", ten..=Self::ELECTION_TIMEOUT_MAX)?;
        Ok(Self {
            hosts,
            user,
            tls: has_tls.then(|| Tls::take(settings)).transpose()?,
            prefix: settings
                .take_prefix()?
                .unwrap_or_else(|| Self::PREFIX.to_owned()),
            connect_timeout: connect_timeout.unwrap_or(Self::CONNECT_TIMEOUT),
            request_timeout: request_timeout.unwrap_or(Self::REQUEST_TIMEOUT),
            election_timeout: election_timeout.unwrap_or(Self::ELECTION_TIMEOUT),
        })
    }

    /// The longest lease that a member grants for `ttl`: whole seconds, at least one and a half of its
    /// election time-outs.
    pub(crate) fn lease_max(&self, ttl: Duration) -> Duration {
        let seconds = whole_seconds(ttl).max(whole_seconds(self.election_timeout * 3 / 2));
        Duration::from_secs(seconds)
    }

    /// The longest time from the ttl of a dead holder to the end of its lock (K6).
    pub(crate) fn takeover_max(&self) -> Duration {
        // Of the shortest ttl.
        self.lease_max(Duration::ZERO).max(Self::TTL_MIN) + Self::END_SLACK
    }

    /// A warning if the store keeps a lease for longer than [`takeover_max`](Self::takeover_max) allows.
    pub(crate) fn long_lease_warning(&self, asked: Duration, granted: Duration) -> Option<String> {
        (granted > self.lease_max(asked)).then(|| {
            format!(
                "etcd granted a lease of {granted:?} instead of {asked:?}, so the lock of a dead holder is \
                 free later than takeover_max: its election timeout is longer than {:?}; \
                 set election_timeout={:?}",
                self.election_timeout,
                granted * 2 / 3
            )
        })
    }

    /// Whether connections use TLS.
    pub(crate) fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether there is a client certificate.
    pub(crate) fn has_certificate(&self) -> bool {
        self.tls.as_ref().is_some_and(Tls::has_identity)
    }

    /// The members as URLs of the driver.
    pub(crate) fn endpoints(&self) -> Vec<String> {
        let scheme = if self.has_tls() { "https" } else { "http" };
        let with_port = |host: &Host| {
            let mut host = host.clone();
            host.port.get_or_insert(Self::PORT);
            format!("{scheme}://{host}")
        };
        self.hosts.iter().map(with_port).collect()
    }

    /// The driver's options. Reads the certificates.
    pub(crate) fn options(&self) -> Result<ConnectOptions> {
        let mut options = ConnectOptions::new()
            // A member without a leader must refuse requests.
            .with_require_leader(true)
            // The driver renews an expired login in the future of one request, and all others wait until
            // that one is polled (K13). Reconnecting does it in a task.
            .with_auto_token_refresh(false)
            .with_connect_timeout(self.connect_timeout)
            .with_keep_alive(Self::PING_EVERY, self.request_timeout)
            .with_keep_alive_while_idle(false);
        if let Some((user, password)) = &self.user {
            options = options.with_user(user, password.expose());
        }
        if let Some(tls) = &self.tls {
            options = options.with_tls(tls_options(tls)?);
        }
        Ok(options)
    }
}

/// `ttl` in etcd's whole seconds: rounded up, so that a lease never ends before its holder's deadline.
pub(crate) fn whole_seconds(ttl: Duration) -> u64 {
    ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0)
}

/// The TLS options of the driver. Reads the certificates.
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

#[cfg(test)]
impl EtcdConfig {
    /// Default settings, except for this one.
    pub(crate) fn with_election_timeout(election_timeout: Duration) -> Self {
        Self {
            hosts: Vec::new(),
            user: None,
            tls: None,
            prefix: String::new(),
            connect_timeout: Self::CONNECT_TIMEOUT,
            request_timeout: Self::REQUEST_TIMEOUT,
            election_timeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_at_least_one_and_a_half_election_time_outs() {
        for (election_ms, ttl_ms, lease) in [
            (1_000, 1_000, 2),
            (1_000, 2_000, 2),
            (1_000, 2_100, 3),
            (8_000, 2_000, 12),
            (8_000, 30_000, 30),
            (100, 1_000, 1),
        ] {
            let config = EtcdConfig::with_election_timeout(Duration::from_millis(election_ms));
            let ttl = Duration::from_millis(ttl_ms);
            assert_eq!(config.lease_max(ttl), Duration::from_secs(lease));
            // For every ttl, the lease has ended by then.
            assert!(config.lease_max(ttl) < ttl + config.takeover_max());
        }
    }

    #[test]
    fn the_warning_about_a_longer_lease_names_the_key() {
        let config = EtcdConfig::with_election_timeout(EtcdConfig::ELECTION_TIMEOUT);
        let [two, twelve] = [2, 12].map(Duration::from_secs);
        assert_eq!(config.long_lease_warning(two, two), None);
        let warning = config.long_lease_warning(two, twelve).expect("a warning");
        assert!(warning.contains("election_timeout=8s"), "{warning}");
        let config = EtcdConfig::with_election_timeout(Duration::from_secs(8));
        assert_eq!(config.long_lease_warning(two, twelve), None);
    }
}
