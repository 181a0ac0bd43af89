//! The checks of one server.

use super::plain::{ACL, EXCEPTIONS, PLAIN};
use crate::probe::finding::Check;

pub(in crate::probe::redis) const EVICTION: Check = Check {
    id: "redis.eviction",
    setting: "maxmemory-policy",
    effect: "a lock can vanish while it is held",
    advice: "CONFIG SET maxmemory-policy noeviction",
    exception: Some("redis.key-removed"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(in crate::probe::redis) const EVICTED: Check = Check {
    id: "redis.evicted",
    setting: "evicted_keys",
    effect: "locks may have vanished while they were held",
    advice: "raise maxmemory, then CONFIG RESETSTAT",
    exception: Some("redis.key-removed"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(in crate::probe::redis) const RESTART: Check = Check {
    id: "redis.restart",
    setting: "appendonly, appendfsync",
    effect: "a restart forgets locks that are held",
    advice: "leave out restart_guard=0s in the URL",
    ..PLAIN
};

pub(in crate::probe::redis) const MEMORY: Check = Check {
    id: "redis.memory",
    setting: "used_memory, maxmemory",
    clause: "K6",
    effect: "the server soon refuses to grant locks",
    advice: "raise maxmemory, or remove keys",
    ..PLAIN
};

pub(in crate::probe::redis) const SNAPSHOT: Check = Check {
    id: "redis.snapshot",
    setting: "rdb_last_bgsave_status, stop-writes-on-bgsave-error",
    clause: "K6",
    effect: "the server refuses to grant and renew locks",
    advice: "free disk space, then BGSAVE",
    ..PLAIN
};

pub(in crate::probe::redis) const IDLE: Check = Check {
    id: "redis.idle-timeout",
    setting: "timeout",
    clause: "K6",
    effect: "the server ends idle connections: a later acquire connects first",
    advice: "CONFIG SET timeout 0",
    ..PLAIN
};

pub(in crate::probe::redis) const LATENCY: Check = Check {
    id: "redis.latency",
    setting: "LATENCY LATEST",
    clause: "K3",
    effect: "the server paused for long: renewals come late",
    advice: "LATENCY DOCTOR; mend the cause, then LATENCY RESET",
    ..PLAIN
};

pub(in crate::probe::redis) const SLOW: Check = Check {
    id: "redis.slow-commands",
    setting: "INFO latencystats",
    clause: "K13",
    effect: "a slow command delays all locks of the server",
    advice: "SLOWLOG GET; split the command, or use another server",
    ..PLAIN
};

pub(in crate::probe::redis) const PRODUCT: Check = Check {
    id: "redis.product",
    setting: "INFO server",
    effect: "dlock is not tested with it",
    advice: "use Redis 7.0 or Valkey 8.0 or later",
    ..PLAIN
};

pub(in crate::probe::redis) const OLD_VERSION: Check = Check {
    id: "redis.old-version",
    setting: "redis_version",
    clause: "K6",
    effect: "it lacks commands that dlock needs",
    advice: "use Redis 7.0 or Valkey 8.0 or later",
    ..PLAIN
};

pub(in crate::probe::redis) const TWO_SERVERS: Check = Check {
    id: "redis.two-servers",
    setting: "run_id over several connections",
    effect: "two servers behind one address each grant the same lock",
    advice: "give the address of one server",
    exception: Some("redis.two-servers"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(in crate::probe::redis) const PROXY: Check = Check {
    id: "redis.proxy",
    setting: "CLIENT ID twice",
    clause: "K9",
    effect: "a proxy moves requests between connections: an abandoned acquire is not undone",
    advice: "connect to the server itself",
    exception: Some("redis.late"),
    readme: EXCEPTIONS,
};

pub(in crate::probe::redis) const LATE: Check = Check {
    id: "redis.late",
    setting: "the right to CLIENT KILL",
    clause: "K9",
    effect: "an abandoned acquire may be executed late: a lock without a holder",
    advice: "ACL SETUSER … +client|kill",
    exception: Some("redis.late"),
    readme: ACL,
};

pub(in crate::probe::redis) const CLIENTS: Check = Check {
    id: "redis.clients",
    setting: "connected_clients, maxclients",
    clause: "K6",
    effect: "the server soon refuses connections",
    advice: "CONFIG SET maxclients 20000, or close connections",
    ..PLAIN
};
