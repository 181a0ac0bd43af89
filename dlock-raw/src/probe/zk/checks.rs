//! The checks of ZooKeeper.

use crate::probe::finding::Check;

const EXCEPTIONS: &str = "dlock-zk/README.md#exceptions";
const SETTINGS: &str = "dlock-zk/README.md#settings";
const GUARANTEES: &str = "dlock-zk/README.md#guarantees";

/// A check that no exception of the contract is about.
const PLAIN: Check = Check {
    id: "",
    setting: "",
    clause: "K6",
    effect: "",
    advice: "",
    exception: None,
    readme: GUARANTEES,
};

pub(super) const PRODUCT: Check = Check {
    id: "zk.product",
    setting: "srvr: version",
    clause: "K1",
    effect: "dlock is not tested with it",
    advice: "use ZooKeeper 3.8 or later",
    ..PLAIN
};

pub(super) const OLD_VERSION: Check = Check {
    id: "zk.old-version",
    setting: "srvr: version",
    effect: "dlock is not tested with it",
    advice: "use ZooKeeper 3.8 or later",
    ..PLAIN
};

pub(super) const READ_ONLY: Check = Check {
    id: "zk.read-only",
    setting: "isro",
    effect: "the server has lost its ensemble, and serves reads alone",
    advice: "start the servers that are down",
    ..PLAIN
};

pub(super) const UNREACHABLE: Check = Check {
    id: "zk.unreachable",
    setting: "srvr of each server",
    effect: "a server does not serve: the next failure may end the majority",
    advice: "start the server, or take it out of the URL",
    ..PLAIN
};

pub(super) const TICK: Check = Check {
    id: "zk.tick",
    setting: "tickTime",
    clause: "K1",
    effect: "a session may end before its holder expects it",
    advice: "tick= in the URL",
    exception: Some("zk.tick"),
    readme: EXCEPTIONS,
};

pub(super) const NO_FORCE_SYNC: Check = Check {
    id: "zk.no-force-sync",
    setting: "forceSync",
    clause: "K1",
    effect: "after a power loss confirmed locks are forgotten",
    advice: "start the servers without zookeeper.forceSync=no",
    exception: Some("zk.set-up-anew"),
    readme: EXCEPTIONS,
};

pub(super) const STANDALONE: Check = Check {
    id: "zk.standalone",
    setting: "srvr: Mode",
    effect: "while the only server is down no lock is granted or renewed",
    advice: "run an ensemble of 3 or 5 servers",
    ..PLAIN
};

pub(super) const MEMBERS: Check = Check {
    id: "zk.members",
    setting: "conf: server.N",
    effect: "an even number of servers survives no more failures than one less",
    advice: "run an ensemble of 3 or 5 servers",
    ..PLAIN
};

pub(super) const FOLLOWERS: Check = Check {
    id: "zk.followers",
    setting: "mntr: zk_synced_followers",
    effect: "servers are missing: the next failure may end the majority",
    advice: "start the servers that are down",
    ..PLAIN
};

pub(super) const SESSION_MAX: Check = Check {
    id: "zk.session-max",
    setting: "maxSessionTimeout",
    clause: "K3",
    effect: "sessions are shorter than requested, and locks with them",
    advice: "a larger maxSessionTimeout in zoo.cfg",
    readme: SETTINGS,
    ..PLAIN
};

pub(super) const LATENCY: Check = Check {
    id: "zk.latency",
    setting: "srvr: Latency avg",
    clause: "K3",
    effect: "proofs of the session come late",
    advice: "a faster disk for dataLogDir, of its own",
    ..PLAIN
};

pub(super) const SLOW_DISK: Check = Check {
    id: "zk.slow-disk",
    setting: "mntr: zk_max_fsynctime",
    clause: "K3",
    effect: "writes wait for the disk for a second or more",
    advice: "a faster disk for dataLogDir, of its own",
    ..PLAIN
};

pub(super) const CONNECTIONS: Check = Check {
    id: "zk.connections",
    setting: "maxClientCnxns",
    effect: "a server ends connections of a machine that has too many",
    advice: "maxClientCnxns=60 or more in zoo.cfg",
    ..PLAIN
};

/// All checks.
pub(in crate::probe) const ALL: &[Check] = &[
    PRODUCT,
    OLD_VERSION,
    READ_ONLY,
    UNREACHABLE,
    TICK,
    NO_FORCE_SYNC,
    STANDALONE,
    MEMBERS,
    FOLLOWERS,
    SESSION_MAX,
    LATENCY,
    SLOW_DISK,
    CONNECTIONS,
];
