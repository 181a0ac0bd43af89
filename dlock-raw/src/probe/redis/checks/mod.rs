//! The checks of Redis and Valkey.

mod group;
mod plain;
mod server;

pub(super) use self::{
    group::{
        CLOCKS, CLUSTER_MASTERS, CLUSTER_REPLICAS, CLUSTER_STATE, CUT_OFF, EMPTY_PRIMARY, MIN_ACKS,
        MIN_REPLICAS, PRIMARIES, QUORUM, ROLE, SENTINELS, SLOT_MOVED, UNGUARDED,
    },
    server::{
        CLIENTS, EVICTED, EVICTION, IDLE, LATE, LATENCY, MEMORY, OLD_VERSION, PRODUCT, PROXY,
        RESTART, SLOW, SNAPSHOT, TWO_SERVERS,
    },
};
use crate::probe::finding::Check;

/// All checks.
pub(in crate::probe) const ALL: &[Check] = &[
    EVICTION,
    EVICTED,
    RESTART,
    EMPTY_PRIMARY,
    CUT_OFF,
    MIN_ACKS,
    UNGUARDED,
    MIN_REPLICAS,
    MEMORY,
    SNAPSHOT,
    IDLE,
    LATENCY,
    SLOW,
    PRODUCT,
    OLD_VERSION,
    ROLE,
    TWO_SERVERS,
    PROXY,
    LATE,
    CLIENTS,
    CLOCKS,
    SENTINELS,
    QUORUM,
    PRIMARIES,
    CLUSTER_STATE,
    CLUSTER_MASTERS,
    CLUSTER_REPLICAS,
    SLOT_MOVED,
];
