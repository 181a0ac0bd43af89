//! The bounds that keep a verification gentle to a server that others use, and its times.

use std::time::Duration;

use conformance_tests::Size;
use dlock::Capabilities;

/// The most requests that a server gets in a second.
pub(crate) const REQUESTS_PER_SECOND_MAX: u32 = 200;

/// The most connections that a server has of a verification at the same time.
pub(crate) const CONNECTIONS_MAX: u32 = 24;

/// How long a verification takes by default.
pub(crate) const RUN_FOR: &str = "60s";

/// How long a verification takes with `--quick`.
pub(crate) const RUN_FOR_QUICK: Duration = Duration::from_secs(10);

/// A first lock that takes longer is worth a word.
pub(crate) const FIRST_LOCK_SOON: Duration = Duration::from_secs(2);

/// How long reading the settings may go on after a signal.
pub(crate) const SETTINGS_STOP_MAX: Duration = Duration::from_secs(3);

/// The part of the time that is kept for removing what is left.
pub(crate) const SWEEP_LEAST: Duration = Duration::from_secs(5);

/// The pause before what could not be removed is tried again.
pub(crate) const SWEEP_AGAIN: Duration = Duration::from_millis(200);

/// How many names are removed at once: a server may be far away.
pub(crate) const SWEEP_AT_ONCE: usize = 8;

/// The longest time for removing what is left, also after a signal.
pub(crate) const SWEEP_MAX: Duration = Duration::from_secs(30);

/// The ttl of locks under faults, where the store allows it.
const FAULT_TTL: Duration = Duration::from_millis(1_500);

/// The least time for faults: a few ttls, and the return of the clients.
pub(crate) const FAULTS_MIN: Duration = Duration::from_secs(15);

/// The part of the time that the cases of the contract may take when faults follow.
pub(crate) const CONTRACT_PART: f64 = 0.55;

/// The same when no faults follow: the rest is for removing what is left.
pub(crate) const CONTRACT_PART_ALONE: f64 = 0.8;

/// A case begins when a call waits for its turn no longer than this. More cases at once would not be faster: they would
/// all be late.
pub(crate) const BACKLOG_MAX: Duration = Duration::from_millis(100);

/// The most calls of `backend` in a second: acquires, renewals, releases and inspections.
pub(crate) fn calls_per_second(backend: &str) -> u32 {
    // How many requests one call sends in a busy second, its share of new connections and heartbeats included.
    let requests_per_call = match backend {
        "file" => 1,
        "redis" => 2,
        "zk" => 5,
        // Its statements, and the checks of sessions and waiters that repeat.
        "mysql" => 9,
        _ => 4,
    };
    REQUESTS_PER_SECOND_MAX / requests_per_call
}

/// The ttl of locks under faults: short, so that the locks of killed workers are soon free.
pub(crate) fn fault_ttl(capabilities: &Capabilities) -> Duration {
    FAULT_TTL.clamp(capabilities.ttl_min, capabilities.ttl_max)
}

/// How many connections of `backend` a case of `size` has at the most.
pub(crate) fn connections(backend: &str, size: Size) -> u32 {
    let connections = match backend {
        // One for requests and one for the notifications of waiters.
        "redis" => 2 * size.clients,
        // One for the session of the default ttl, and one for that of a short ttl.
        "zk" => 2 * size.clients,
        // One for heartbeats and one that is idle, and one for each lock.
        "mysql" => 2 * size.clients + size.locks,
        _ => size.clients,
    };
    connections.clamp(1, CONNECTIONS_MAX)
}
