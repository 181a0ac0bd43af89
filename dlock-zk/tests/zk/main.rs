//! ZooKeeper under faults: cases named after the failure modes (`t40` …) and the clauses (`k01` …)
//! that they are about.
//!
//! A binary without the standard harness: it reports a server that is missing as ignored.

mod again;
mod clients;
mod connecting;
mod contact;
mod crowds;
mod foreign;
mod interop;
mod late_creations;
mod layout;
mod lost_replies;
mod migration;
mod partitions;
mod queues;
mod session_classes;
mod sessions;
mod support;
mod times;

use std::process::ExitCode;

use dlock_servers::zk::Flavour;
use dlock_verify::support::if_available;
use libtest_mimic::Trial;

/// Cases mostly wait, but the machine may have two processors, and a server takes some memory.
const THREADS: usize = 4;

fn main() -> ExitCode {
    // The program chooses the provider of TLS, as the driver takes the process's.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    dlock_verify::support::main(THREADS, Flavour::ALL.into_iter().flat_map(trials))
}

fn trials(flavour: Flavour) -> Vec<Trial> {
    let groups = [
        again::trials,
        clients::trials,
        connecting::trials,
        contact::trials,
        crowds::trials,
        interop::trials,
        layout::trials,
        late_creations::trials,
        lost_replies::trials,
        migration::trials,
        partitions::trials,
        queues::trials,
        session_classes::trials,
        sessions::trials,
        foreign::trials,
        times::trials,
    ];
    let mut trials: Vec<_> = groups.iter().flat_map(|group| group(flavour)).collect();
    if flavour == Flavour::Stable {
        trials.extend(clients::trials_with_clients(flavour));
    }
    if_available(flavour.name(), flavour.find(), trials)
}
