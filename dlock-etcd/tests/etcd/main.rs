//! etcd under faults, on each of its versions. Names of cases begin with their failure mode (`t20` …) or
//! the clause of the contract (`k01` …).
//!
//! This binary has no standard harness: it reports a missing server as ignored.

mod batches;
mod clusters;
mod connecting;
mod counting;
mod dropped;
mod endings;
mod foreign;
mod grpc_proxies;
mod layout;
mod leases;
mod lost_replies;
mod partitions;
mod restored;
mod sleepers;
mod space;
mod support;
mod takeover;
mod tls;
mod undo;
mod unpolled;
mod users;
mod waiting;
mod writing;

use std::process::ExitCode;

use dlock_servers::etcd::Flavour;
use dlock_verify::support::if_available;
use libtest_mimic::Trial;

/// Cases mostly wait, but the machine may have two processors, and some measure how long.
const THREADS: usize = 4;

fn main() -> ExitCode {
    dlock_verify::support::main(THREADS, Flavour::ALL.into_iter().flat_map(trials))
}

fn trials(flavour: Flavour) -> Vec<Trial> {
    let groups = [
        batches::trials,
        clusters::trials,
        connecting::trials,
        counting::trials,
        dropped::trials,
        endings::trials,
        foreign::trials,
        grpc_proxies::trials,
        layout::trials,
        leases::trials,
        lost_replies::trials,
        partitions::trials,
        restored::trials,
        sleepers::trials,
        space::trials,
        takeover::trials,
        tls::trials,
        undo::trials,
        unpolled::trials,
        users::trials,
        waiting::trials,
        writing::trials,
    ];
    let trials = groups.iter().flat_map(|group| group(flavour)).collect();
    if_available(
        flavour.name(),
        flavour.find().and_then(|_| flavour.find_client()),
        trials,
    )
}
