//! The checks of servers that belong together.

use super::plain::{EXCEPTIONS, PLAIN, SETTINGS};
use crate::probe::finding::Check;

pub(in crate::probe::redis) const EMPTY_PRIMARY: Check = Check {
    id: "redis.empty-primary",
    setting: "appendonly, save",
    clause: "K5",
    effect: "a restart empties the replicas, too: tokens then rely on clocks",
    advice: "CONFIG SET appendonly yes",
    exception: Some("redis.clocks"),
    readme: EXCEPTIONS,
};

pub(in crate::probe::redis) const CUT_OFF: Check = Check {
    id: "redis.cut-off",
    setting: "min_acks",
    effect: "a primary that is cut off goes on granting",
    advice: "min_acks=1 in the URL",
    exception: Some("redis.cut-off"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(in crate::probe::redis) const MIN_ACKS: Check = Check {
    id: "redis.min-acks",
    setting: "connected_slaves",
    clause: "K6",
    effect: "fewer replicas follow than min_acks needs: no lock is granted",
    advice: "start a replica, or lower min_acks in the URL",
    readme: SETTINGS,
    ..PLAIN
};

pub(in crate::probe::redis) const UNGUARDED: Check = Check {
    id: "redis.failover-unguarded",
    setting: "failover_guard, repl-backlog-ttl",
    effect: "a promoted replica that lacks a lock grants it again",
    advice: "leave out failover_guard= in the URL; CONFIG SET repl-backlog-ttl 3600",
    exception: Some("redis.failover-unguarded"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(in crate::probe::redis) const MIN_REPLICAS: Check = Check {
    id: "redis.min-replicas",
    setting: "min-replicas-to-write",
    effect: "a primary without replicas goes on accepting writes",
    advice: "CONFIG SET min-replicas-to-write 1",
    exception: Some("redis.cut-off"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(in crate::probe::redis) const ROLE: Check = Check {
    id: "redis.role",
    setting: "role, redis_mode",
    clause: "K6",
    effect: "dlock refuses the server",
    advice: "give the primary's address, or redis-sentinel:// or redis-cluster://",
    readme: SETTINGS,
    ..PLAIN
};

pub(in crate::probe::redis) const CLOCKS: Check = Check {
    id: "redis.clocks",
    setting: "TIME of each server",
    clause: "K5",
    effect: "after a failover to a slow clock tokens may repeat",
    advice: "run an NTP service on each server",
    exception: Some("redis.clocks"),
    readme: EXCEPTIONS,
};

pub(in crate::probe::redis) const SENTINELS: Check = Check {
    id: "redis.sentinels",
    setting: "SENTINEL MASTER: num-other-sentinels",
    effect: "too few Sentinels to outvote one that is cut off",
    advice: "run three Sentinels, on three machines",
    exception: Some("redis.cut-off"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(in crate::probe::redis) const QUORUM: Check = Check {
    id: "redis.quorum",
    setting: "SENTINEL MASTER: quorum; SENTINEL CKQUORUM",
    effect: "a minority calls the primary down, or no failover can happen",
    advice: "SENTINEL SET … quorum with half of the Sentinels and one",
    exception: Some("redis.cut-off"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(in crate::probe::redis) const PRIMARIES: Check = Check {
    id: "redis.primaries",
    setting: "SENTINEL GET-MASTER-ADDR-BY-NAME",
    effect: "the Sentinels name different primaries",
    advice: "wait for the end of the failover; SENTINEL RESET …",
    exception: Some("redis.cut-off"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(in crate::probe::redis) const CLUSTER_STATE: Check = Check {
    id: "redis.cluster-state",
    setting: "CLUSTER INFO: cluster_state",
    clause: "K6",
    effect: "some names cannot be locked",
    advice: "redis-cli --cluster check, then --cluster fix",
    ..PLAIN
};

pub(in crate::probe::redis) const CLUSTER_MASTERS: Check = Check {
    id: "redis.cluster-masters",
    setting: "CLUSTER NODES: masters",
    clause: "K6",
    effect: "fewer than three masters have no majority when one fails",
    advice: "run three masters with a replica each",
    ..PLAIN
};

pub(in crate::probe::redis) const CLUSTER_REPLICAS: Check = Check {
    id: "redis.cluster-replicas",
    setting: "CLUSTER NODES: replicas",
    clause: "K6",
    effect: "without a replica its names cannot be locked while it is down",
    advice: "redis-cli --cluster add-node … --cluster-slave",
    ..PLAIN
};

pub(in crate::probe::redis) const SLOT_MOVED: Check = Check {
    id: "redis.slot-moved",
    setting: "CLUSTER NODES: slots that move",
    effect: "a slot that moves leaves the guard of its master behind",
    advice: "move no slots within a restart_guard after a failover",
    exception: Some("redis.slot-moved"),
    readme: EXCEPTIONS,
    ..PLAIN
};
