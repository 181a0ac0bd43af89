//! What an etcd URL can say; strict.

use std::time::Duration;

use dlock_core::{
    Result,
    config::{Host, Secret, Settings, TlsFiles},
};
use etcd_client::{Certificate, ConnectOptions, Identity, TlsOptions};

use crate::lease::rpc::whole_seconds;

/// Which members to use, and how.
#[derive(Clone, Debug)]
pub struct EtcdConfig {
    hosts: Vec<Host>,
    user: Option<(String, Secret)>,
    tls: Option<TlsFiles>,
    pub(crate) prefix: String,
    pub(crate) connect_max: Duration,
    pub(crate) answer_max: Duration,
    pub(crate) election: Duration,
}

impl EtcdConfig {
    /// Names are keys with this before them, apart from the data of others.
    const PREFIX: &str = "dlock/";

    /// The shortest ttl: the store counts whole seconds.
    pub(crate) const TTL_MIN: Duration = Duration::from_secs(1);

    /// The longest ttl: as long blocks a lock whose holder died.
    pub(crate) const TTL_MAX: Duration = Duration::from_secs(86_400);

    /// How long connecting may take: a login on a slow network.
    const CONNECT_MAX: Duration = Duration::from_secs(5);

    /// How long one member's answer may take, before the next one is asked.
    const ANSWER_MAX: Duration = Duration::from_secs(2);

    /// What a member's `--election-timeout` is if nobody changed it.
    const ELECTION: Duration = Duration::from_secs(1);

    /// A member refuses to start with a longer one.
    const ELECTION_MAX: Duration = Duration::from_secs(50);

    /// A member looks twice a second which leases have ended, and the others must agree.
    const END_SLACK: Duration = Duration::from_secs(1);

    /// A silent connection is asked for a sign of life after this while something is waited for.
    /// Members refuse a client that asks more often than every 5 s.
    const PING_EVERY: Duration = Duration::from_secs(10);

    /// etcd's port.
    const PORT: u16 = 2379;

    /// Reads the settings of an `etcd://` URL, or with `tls` of an `etcds://` one.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for what is not allowed.
    pub fn from_settings(settings: &mut Settings, tls: bool) -> Result<Self> {
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
        let connect_max = settings.take_duration("connect_timeout", ten..=minute)?;
        let answer_max = settings.take_duration("timeout", ten..=minute)?;
        let election = settings.take_duration("election_timeout", ten..=Self::ELECTION_MAX)?;
        Ok(Self {
            hosts,
            user,
            tls: tls.then(|| TlsFiles::take(settings)).transpose()?,
            prefix: settings
                .take_prefix()?
                .unwrap_or_else(|| Self::PREFIX.to_owned()),
            connect_max: connect_max.unwrap_or(Self::CONNECT_MAX),
            answer_max: answer_max.unwrap_or(Self::ANSWER_MAX),
            election: election.unwrap_or(Self::ELECTION),
        })
    }

    /// The lease that a member gives at most for `ttl`: in whole seconds, and no shorter than one and a
    /// half of its election time-outs.
    pub(crate) fn lease_max(&self, ttl: Duration) -> Duration {
        let seconds = whole_seconds(ttl).max(whole_seconds(self.election * 3 / 2));
        Duration::from_secs(seconds)
    }

    /// How long after the ttl a dead holder's lock is free at the latest (K6).
    pub(crate) fn takeover_max(&self) -> Duration {
        // Of the shortest ttl.
        self.lease_max(Duration::ZERO).max(Self::TTL_MIN) + Self::END_SLACK
    }

    /// That the store keeps a lease for longer than [`takeover_max`](Self::takeover_max) counts with.
    pub(crate) fn longer_than_told(&self, asked: Duration, granted: Duration) -> Option<String> {
        (granted > self.lease_max(asked)).then(|| {
            format!(
                "etcd keeps a lease of {granted:?} where {asked:?} were asked for, so the lock of a dead \
                 holder is free later than takeover_max says: its election timeout is longer than {:?}; \
                 set election_timeout={:?}",
                self.election,
                granted * 2 / 3
            )
        })
    }

    /// Whether connections are encrypted.
    pub(crate) fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether it has a certificate to show.
    pub(crate) fn has_certificate(&self) -> bool {
        self.tls.as_ref().is_some_and(TlsFiles::has_client)
    }

    /// The members, as the driver wants them.
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
            // T30: a member that is cut off must say so.
            .with_require_leader(true)
            // Whoever meets an expired login would renew it for all, who would wait for that future to
            // be polled (K13). The session does it in a task.
            .with_auto_token_refresh(false)
            .with_connect_timeout(self.connect_max)
            .with_keep_alive(Self::PING_EVERY, self.answer_max)
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

/// Reads the files.
fn tls_options(files: &TlsFiles) -> Result<TlsOptions> {
    let options = match files.ca()? {
        Some(ca) => TlsOptions::new().ca_certificate(Certificate::from_pem(ca)),
        None => TlsOptions::new().with_native_roots(),
    };
    Ok(match files.client()? {
        Some((cert, key)) => options.identity(Identity::from_pem(cert, key)),
        None => options,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EtcdLock;

    fn with_election(election: Duration) -> EtcdConfig {
        EtcdConfig {
            hosts: Vec::new(),
            user: None,
            tls: None,
            prefix: String::new(),
            connect_max: EtcdConfig::CONNECT_MAX,
            answer_max: EtcdConfig::ANSWER_MAX,
            election,
        }
    }

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
            let config = with_election(Duration::from_millis(election_ms));
            let ttl = Duration::from_millis(ttl_ms);
            assert_eq!(config.lease_max(ttl), Duration::from_secs(lease));
            // Of whichever ttl, it is over by then.
            assert!(config.lease_max(ttl) < ttl + config.takeover_max());
        }
    }

    #[test]
    fn what_it_can_do_follows_the_election_time_out() {
        let of = |seconds| EtcdLock::capabilities_of(&with_election(Duration::from_secs(seconds)));
        assert_eq!(of(1), EtcdLock::CAPABILITIES);
        assert_eq!(of(8).takeover_max, Duration::from_secs(13));
    }

    #[test]
    fn a_longer_lease_is_told_with_the_key() {
        let config = with_election(EtcdConfig::ELECTION);
        let [two, twelve] = [2, 12].map(Duration::from_secs);
        assert_eq!(config.longer_than_told(two, two), None);
        let warning = config.longer_than_told(two, twelve).expect("a warning");
        assert!(warning.contains("election_timeout=8s"), "{warning}");
        let config = with_election(Duration::from_secs(8));
        assert_eq!(config.longer_than_told(two, twelve), None);
    }
}
