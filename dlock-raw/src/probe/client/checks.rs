//! The checks of the machine that dlock runs on.

use crate::probe::finding::Check;

const CONTRACT: &str = "docs/contract.md#the-contract";

pub(super) const CLOCK_RATE: Check = Check {
    id: "client.clock-rate",
    setting: "BOOTTIME and the server's clock",
    clause: "K2",
    effect: "a lock can expire at the server before its holder knows",
    advice: "mend the clock of the machine or of its hypervisor",
    exception: None,
    readme: CONTRACT,
};

pub(super) const STEAL: Check = Check {
    id: "client.steal",
    setting: "/proc/stat: steal",
    clause: "K3",
    effect: "the hypervisor withholds the processor: renewals come late",
    advice: "a larger ttl= in the URL, or another machine",
    exception: None,
    readme: CONTRACT,
};

pub(super) const PRESSURE: Check = Check {
    id: "client.pressure",
    setting: "/proc/pressure/cpu: some avg60",
    clause: "K3",
    effect: "tasks wait for a processor: renewals come late",
    advice: "a larger ttl= in the URL, or less load",
    exception: None,
    readme: CONTRACT,
};

pub(super) const DESCRIPTORS: Check = Check {
    id: "client.descriptors",
    setting: "ulimit -n",
    clause: "K6",
    effect: "the process soon can open no connection",
    advice: "ulimit -n 65536, or LimitNOFILE=65536",
    exception: None,
    readme: CONTRACT,
};

/// All checks.
pub(in crate::probe) const ALL: &[Check] = &[CLOCK_RATE, STEAL, PRESSURE, DESCRIPTORS];
