//! The circles that are still there. The list may only shrink.

/// A circle that is allowed for now.
pub(super) struct Known {
    /// Files, or folders with a slash at the end, in the order of the alphabet.
    pub(super) circle: &'static [&'static str],
    /// The reason why it is still there.
    pub(super) reason: &'static str,
}

pub(super) const KNOWN: &[Known] = &[
    Known {
        circle: &[
            "dlock-etcd/src/carrier.rs",
            "dlock-etcd/src/carriers.rs",
            "dlock-etcd/src/entry.rs",
            "dlock-etcd/src/held.rs",
            "dlock-etcd/src/keeping.rs",
            "dlock-etcd/src/lock.rs",
            "dlock-etcd/src/moving.rs",
            "dlock-etcd/src/seat.rs",
            "dlock-etcd/src/standing.rs",
            "dlock-etcd/src/take.rs",
            "dlock-etcd/src/wait.rs",
        ],
        reason: "leases, those who use them, and their keeping",
    },
    Known {
        circle: &[
            "dlock-etcd/src/config.rs",
            "dlock-etcd/src/errors.rs",
            "dlock-etcd/src/leases.rs",
            "dlock-etcd/src/queries.rs",
            "dlock-etcd/src/session.rs",
        ],
        reason: "errors name the endpoint of the configuration",
    },
    Known {
        circle: &["dlock-etcd/src/listen.rs", "dlock-etcd/src/watch.rs"],
        reason: "the stream and the registry of watches",
    },
    Known {
        circle: &["dlock-file/src/reader.rs", "dlock-file/src/session.rs"],
        reason: "the session starts the reader that tells it",
    },
    Known {
        circle: &[
            "dlock-mysql/src/behind.rs",
            "dlock-mysql/src/lock.rs",
            "dlock-mysql/src/take.rs",
            "dlock-mysql/src/wait.rs",
        ],
        reason: "an attempt and what is done behind it",
    },
    Known {
        circle: &[
            "dlock-mysql/src/control.rs",
            "dlock-mysql/src/dial.rs",
            "dlock-mysql/src/epoch.rs",
            "dlock-mysql/src/guard.rs",
            "dlock-mysql/src/held.rs",
            "dlock-mysql/src/idle.rs",
            "dlock-mysql/src/latest.rs",
            "dlock-mysql/src/link.rs",
            "dlock-mysql/src/longest.rs",
            "dlock-mysql/src/server.rs",
            "dlock-mysql/src/session.rs",
            "dlock-mysql/src/setup.rs",
        ],
        reason: "connection, pool and epoch",
    },
    Known {
        circle: &["dlock-redis/src/dial.rs", "dlock-redis/src/errors.rs"],
        reason: "an error names the address",
    },
    Known {
        circle: &[
            "dlock-redis/src/ear.rs",
            "dlock-redis/src/pulse.rs",
            "dlock-redis/src/session.rs",
            "dlock-redis/src/wake.rs",
        ],
        reason: "the connection for wake-ups and those who wait by it",
    },
    Known {
        circle: &["dlock-redis/src/lock.rs", "dlock-redis/src/wait.rs"],
        reason: "a wait names the keys of the lock",
    },
    Known {
        circle: &["dlock-redis/src/take.rs", "dlock-redis/src/trips.rs"],
        reason: "an attempt and its batch",
    },
    Known {
        circle: &[
            "dlock-redis/tests/model/checks.rs",
            "dlock-redis/tests/model/client.rs",
            "dlock-redis/tests/model/faults.rs",
            "dlock-redis/tests/model/rules.rs",
            "dlock-redis/tests/model/server.rs",
            "dlock-redis/tests/model/world.rs",
        ],
        reason: "the model's world and its rules",
    },
    Known {
        circle: &[
            "dlock-zk/src/diagnose.rs",
            "dlock-zk/src/dial.rs",
            "dlock-zk/src/record.rs",
        ],
        reason: "what a dial found, said by the dialer",
    },
    Known {
        circle: &[
            "dlock-zk/src/entry.rs",
            "dlock-zk/src/heartbeat.rs",
            "dlock-zk/src/held.rs",
            "dlock-zk/src/rounds.rs",
            "dlock-zk/src/session.rs",
            "dlock-zk/src/take.rs",
        ],
        reason: "a held lock and its session",
    },
    Known {
        circle: &[
            "dlock-bench/benches/core/cycle.rs",
            "dlock-bench/benches/core/held.rs",
            "dlock-bench/benches/core/main.rs",
            "dlock-bench/benches/core/renewals.rs",
            "dlock-bench/benches/core/waiters.rs",
        ],
        reason: "the benches take helpers from main.rs",
    },
    Known {
        circle: &[
            "dlock-bench/src/baselines/etcd.rs",
            "dlock-bench/src/baselines/etcd_lock.rs",
            "dlock-bench/src/baselines/file.rs",
            "dlock-bench/src/baselines/mod.rs",
            "dlock-bench/src/baselines/mysql.rs",
            "dlock-bench/src/baselines/redis.rs",
            "dlock-bench/src/baselines/zk.rs",
            "dlock-bench/src/cycle.rs",
            "dlock-bench/src/interleave.rs",
            "dlock-bench/src/slice.rs",
        ],
        reason: "the baselines and the cycle that runs them",
    },
    Known {
        circle: &[
            "dlock-bench/src/baselines/",
            "dlock-bench/src/cycle.rs",
            "dlock-bench/src/interleave.rs",
            "dlock-bench/src/slice.rs",
        ],
        reason: "the baselines and the cycle that runs them",
    },
];
