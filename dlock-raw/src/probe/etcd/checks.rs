//! The checks of etcd.

use crate::probe::finding::Check;

const EXCEPTIONS: &str = "dlock-etcd/README.md#exceptions";
const SETTINGS: &str = "dlock-etcd/README.md#settings";
const GUARANTEES: &str = "dlock-etcd/README.md#guarantees";

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

pub(super) const NOSPACE: Check = Check {
    id: "etcd.nospace",
    setting: "alarm NOSPACE",
    effect: "the cluster refuses to grant and renew locks",
    advice: "etcdctl compact …; etcdctl defrag; etcdctl alarm disarm",
    ..PLAIN
};

pub(super) const CORRUPT: Check = Check {
    id: "etcd.corrupt",
    setting: "alarm CORRUPT",
    clause: "K1",
    effect: "the members have different data: each may grant the same lock",
    advice: "remove the member whose data differ, and add it again empty",
    ..PLAIN
};

pub(super) const BROKEN_VERSION: Check = Check {
    id: "etcd.broken-version",
    setting: "version 3.5.0 to 3.5.2",
    clause: "K1",
    effect: "a member that crashed may miss writes (etcd-io/etcd#13766)",
    advice: "upgrade to 3.5.23 or later",
    exception: Some("etcd.old-version"),
    readme: EXCEPTIONS,
};

pub(super) const OLD_VERSION: Check = Check {
    id: "etcd.old-version",
    setting: "version",
    clause: "K1",
    effect: "it sometimes loses a lease, or the event of a deletion",
    advice: "upgrade to 3.4.38, 3.5.23, 3.6.5 or later",
    exception: Some("etcd.old-version"),
    readme: EXCEPTIONS,
};

pub(super) const NO_FSYNC: Check = Check {
    id: "etcd.no-fsync",
    setting: "--unsafe-no-fsync",
    clause: "K1",
    effect: "after a power loss confirmed locks are forgotten",
    advice: "start the member without --unsafe-no-fsync",
    ..PLAIN
};

pub(super) const NO_LEADER: Check = Check {
    id: "etcd.no-leader",
    setting: "Status: leader",
    effect: "the cluster has no majority: no lock is granted or renewed",
    advice: "start the members that are down",
    ..PLAIN
};

pub(super) const MEMBERS: Check = Check {
    id: "etcd.members",
    setting: "MemberList",
    effect: "one member alone, or an even number, survives fewer failures",
    advice: "etcdctl member add: 3 or 5 members",
    ..PLAIN
};

pub(super) const UNREACHABLE: Check = Check {
    id: "etcd.unreachable",
    setting: "Status of each member",
    effect: "a member does not answer: the next failure may end the majority",
    advice: "start the member, or etcdctl member remove",
    ..PLAIN
};

pub(super) const LEARNER: Check = Check {
    id: "etcd.learner",
    setting: "MemberList: is_learner",
    effect: "a learner does not vote: it adds no safety",
    advice: "etcdctl member promote …",
    ..PLAIN
};

pub(super) const QUOTA: Check = Check {
    id: "etcd.quota",
    setting: "dbSize, --quota-backend-bytes",
    effect: "the cluster soon refuses to grant locks (NOSPACE)",
    advice: "etcdctl compact …; etcdctl defrag; a larger --quota-backend-bytes",
    ..PLAIN
};

pub(super) const SLOW_DISK: Check = Check {
    id: "etcd.slow-disk",
    setting: "wal_fsync and backend_commit of /metrics",
    clause: "K3",
    effect: "grants and renewals wait for the disk; leaders change",
    advice: "a faster disk, of its own",
    ..PLAIN
};

pub(super) const LEADER_CHANGES: Check = Check {
    id: "etcd.leader-changes",
    setting: "leader_changes_seen_total of /metrics",
    effect: "each new leader restarts all leases: locks of dead holders last longer",
    advice: "a faster disk or network; a larger --election-timeout",
    exception: Some("etcd.new-leader"),
    readme: EXCEPTIONS,
    ..PLAIN
};

pub(super) const LAG: Check = Check {
    id: "etcd.lag",
    setting: "Status: raftIndex, raftAppliedIndex",
    effect: "the member applies writes late: waiters behind it are woken late",
    advice: "a faster disk, or less load",
    ..PLAIN
};

pub(super) const ELECTION_TIMEOUT: Check = Check {
    id: "etcd.election-timeout",
    setting: "--election-timeout",
    effect: "leases are longer: a dead holder's lock is free later",
    advice: "election_timeout= in the URL",
    readme: SETTINGS,
    ..PLAIN
};

pub(super) const GRPC_PROXY: Check = Check {
    id: "etcd.grpc-proxy",
    setting: "MemberList of a gRPC proxy",
    clause: "K3",
    effect: "the proxy delays keep-alives, and hides the members behind it",
    advice: "give the members' own addresses",
    ..PLAIN
};

/// All checks.
pub(in crate::probe) const ALL: &[Check] = &[
    NOSPACE,
    CORRUPT,
    BROKEN_VERSION,
    OLD_VERSION,
    NO_FSYNC,
    NO_LEADER,
    MEMBERS,
    UNREACHABLE,
    LEARNER,
    QUOTA,
    SLOW_DISK,
    LEADER_CHANGES,
    LAG,
    ELECTION_TIMEOUT,
    GRPC_PROXY,
];
