//! The checks of MySQL and MariaDB.

use crate::probe::finding::Check;

const EXCEPTIONS: &str = "dlock-mysql/README.md#exceptions";
const SETTINGS: &str = "dlock-mysql/README.md#settings";
const GUARANTEES: &str = "dlock-mysql/README.md#guarantees";

/// A check that no exception of the contract is about.
const PLAIN: Check = Check {
    id: "",
    setting: "",
    clause: "K1",
    effect: "",
    advice: "",
    exception: None,
    readme: GUARANTEES,
};

pub(super) const PRODUCT: Check = Check {
    id: "mysql.product",
    setting: "version, version_comment",
    effect: "its row locks are others: two may be granted one lock",
    advice: "use MySQL 8.0 or MariaDB 10.6 or later",
    ..PLAIN
};

pub(super) const OLD_VERSION: Check = Check {
    id: "mysql.old-version",
    setting: "version",
    clause: "K6",
    effect: "it lacks NOWAIT or SKIP LOCKED: dlock refuses it",
    advice: "use MySQL 8.0 or MariaDB 10.6 or later",
    ..PLAIN
};

pub(super) const GALERA: Check = Check {
    id: "mysql.galera",
    setting: "wsrep_on",
    effect: "rows are locked on one node only: two can grant one lock",
    advice: "use a server without Galera; dlock refuses this one",
    ..PLAIN
};

pub(super) const MULTI_PRIMARY: Check = Check {
    id: "mysql.multi-primary",
    setting: "group_replication_single_primary_mode",
    effect: "each primary locks rows for itself: two can grant one lock",
    advice: "SELECT group_replication_switch_to_single_primary_mode()",
    ..PLAIN
};

pub(super) const ENGINE: Check = Check {
    id: "mysql.engine",
    setting: "ENGINE of dlock_locks and dlock_epoch",
    effect: "the table has no row locks: dlock refuses it",
    advice: "ALTER TABLE dlock_locks ENGINE=InnoDB",
    ..PLAIN
};

pub(super) const PROXY: Check = Check {
    id: "mysql.proxy",
    setting: "CONNECTION_ID() three times",
    effect: "a proxy moves the session to another connection: its lock ends",
    advice: "connect to the server itself, or turn multiplexing off",
    exception: Some("mysql.proxy"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(super) const TWO_SERVERS: Check = Check {
    id: "mysql.two-servers",
    setting: "server_id over several connections",
    effect: "several servers behind one address each grant the same lock",
    advice: "give the address of one server",
    exception: Some("mysql.split"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(super) const READ_ONLY: Check = Check {
    id: "mysql.read-only",
    setting: "read_only",
    clause: "K6",
    effect: "the server grants no lock",
    advice: "give the address of the primary",
    readme: SETTINGS,
    ..PLAIN
};

pub(super) const REPLICA: Check = Check {
    id: "mysql.replica",
    setting: "SHOW REPLICA STATUS",
    effect: "the server follows another one, which does not have its locks",
    advice: "give the address of the primary",
    exception: Some("mysql.split"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(super) const REPLICA_LAG: Check = Check {
    id: "mysql.lost-row",
    setting: "Seconds_Behind of SHOW REPLICA STATUS",
    effect: "a failover to a replica that lags forgets the guard's times",
    advice: "promote a replica only when it has everything",
    exception: Some("mysql.lost-row"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(super) const REPLICAS: Check = Check {
    id: "mysql.replicas",
    setting: "SHOW REPLICAS",
    clause: "K6",
    effect: "a failover frees all locks: the next primary waits for them",
    advice: "start each server with read_only=1, and make the primary writable",
    exception: Some("mysql.split"),
    readme: EXCEPTIONS,
};

pub(super) const SPLIT: Check = Check {
    id: "mysql.split",
    setting: "SHOW GRANTS",
    effect: "a former primary that is read-only goes on granting",
    advice: "REVOKE SUPER, CONNECTION_ADMIN or READ_ONLY ADMIN",
    exception: Some("mysql.split"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(super) const FLUSH: Check = Check {
    id: "mysql.flush",
    setting: "innodb_flush_log_at_trx_commit, sync_binlog",
    effect: "after a crash the guard of the next start is too short",
    advice: "SET GLOBAL innodb_flush_log_at_trx_commit = 1, sync_binlog = 1",
    exception: Some("mysql.lost-row"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(super) const UNGUARDED: Check = Check {
    id: "mysql.unguarded",
    setting: "restart_guard",
    effect: "a grant of this program ends the guard of all programs",
    advice: "leave out restart_guard=0s in the URL",
    exception: Some("mysql.unguarded"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(super) const CONNECTIONS: Check = Check {
    id: "mysql.connections",
    setting: "max_connections, Threads_connected",
    clause: "K6",
    effect: "each held lock needs a connection, and few are left",
    advice: "SET GLOBAL max_connections = …, or held_max= in the URL",
    readme: SETTINGS,
    ..PLAIN
};

pub(super) const PREPARED: Check = Check {
    id: "mysql.prepared",
    setting: "max_prepared_stmt_count, Prepared_stmt_count",
    clause: "K6",
    effect: "statements can no longer be prepared: each cycle costs the server more",
    advice: "SET GLOBAL max_prepared_stmt_count = 65536",
    ..PLAIN
};

pub(super) const THREAD_POOL: Check = Check {
    id: "mysql.thread-pool",
    setting: "thread_handling",
    clause: "K13",
    effect: "waiters use the threads of the pool: other sessions may wait",
    advice: "thread_handling=one-thread-per-connection",
    ..PLAIN
};

pub(super) const CLOCK: Check = Check {
    id: "mysql.clock",
    setting: "the server's clock and this machine's",
    effect: "when it is set, guards end early or tokens repeat",
    advice: "run an NTP service on both machines",
    exception: Some("mysql.clock"),
    readme: EXCEPTIONS,
    ..PLAIN
};

/// All checks.
pub(in crate::probe) const ALL: &[Check] = &[
    PRODUCT,
    OLD_VERSION,
    GALERA,
    MULTI_PRIMARY,
    ENGINE,
    PROXY,
    TWO_SERVERS,
    READ_ONLY,
    REPLICA,
    REPLICA_LAG,
    REPLICAS,
    SPLIT,
    FLUSH,
    UNGUARDED,
    CONNECTIONS,
    PREPARED,
    THREAD_POOL,
    CLOCK,
];
