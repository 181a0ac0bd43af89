//! How long leases are with these settings.

use std::time::Duration;

use super::EtcdConfig;

impl EtcdConfig {
    /// Members check for expired leases twice a second, and must agree on each.
    const END_SLACK: Duration = Duration::from_secs(1);

    /// The longest lease that a member grants for `ttl`: whole seconds, at least one and a half of its
    /// election time-outs.
    pub(crate) fn lease_max(&self, ttl: Duration) -> Duration {
        let seconds =
            whole_seconds(ttl).max(whole_seconds(self.election_timeout.saturating_mul(3) / 2));
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
}

/// `ttl` in etcd's whole seconds: rounded up, so that a lease never ends before its holder's deadline.
pub(crate) fn whole_seconds(ttl: Duration) -> u64 {
    ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0)
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
            let config =
                EtcdConfig::new(["h"]).election_timeout(Duration::from_millis(election_ms));
            let ttl = Duration::from_millis(ttl_ms);
            assert_eq!(config.lease_max(ttl), Duration::from_secs(lease));
            // For every ttl, the lease has ended by then.
            assert!(config.lease_max(ttl) < ttl + config.takeover_max());
        }
    }

    #[test]
    fn the_warning_about_a_longer_lease_names_the_key() {
        let config = EtcdConfig::new(["h"]).election_timeout(EtcdConfig::ELECTION_TIMEOUT);
        let [two, twelve] = [2, 12].map(Duration::from_secs);
        assert_eq!(config.long_lease_warning(two, two), None);
        let warning = config.long_lease_warning(two, twelve).expect("a warning");
        assert!(warning.contains("election_timeout=8s"), "{warning}");
        let config = EtcdConfig::new(["h"]).election_timeout(Duration::from_secs(8));
        assert_eq!(config.long_lease_warning(two, twelve), None);
    }
}
