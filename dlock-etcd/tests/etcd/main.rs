//! etcd under faults, on each version of it: cases named after the failure modes (`t20` …) and the
//! clauses (`k01` …) that they are about.
//!
//! A binary without the standard harness: it reports a server that is missing as ignored.

mod batches;
mod clients;
mod clusters;
mod connecting;
mod counting;
mod dropped;
mod endings;
mod foreign;
mod foreign_client;
mod formats;
mod grpc_proxies;
mod guarded_writes;
mod layout;
mod lost_replies;
mod migration;
mod pairs;
mod partitions;
mod python_etcd3;
mod quota;
mod renewal;
mod restored;
mod rotation;
mod slept_leader;
mod support;
mod takeover;
mod tls;
mod undo;
mod unpolled;
mod users;
mod waiting;

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
        formats::trials,
        grpc_proxies::trials,
        renewal::trials,
        layout::trials,
        lost_replies::trials,
        migration::trials,
        pairs::trials,
        partitions::trials,
        restored::trials,
        rotation::trials,
        slept_leader::trials,
        quota::trials,
        takeover::trials,
        tls::trials,
        undo::trials,
        unpolled::trials,
        users::trials,
        waiting::trials,
        guarded_writes::trials,
    ];
    let mut trials: Vec<_> = groups.iter().flat_map(|group| group(flavour)).collect();
    if flavour == Flavour::ALL[0] {
        trials.extend(clients::trials_with_clients(flavour));
        trials.extend(python_etcd3::trials_with_clients(flavour));
    }
    if_available(
        flavour.name(),
        flavour.find().and_then(|_| flavour.find_client()),
        trials,
    )
}
