//! Redis under faults, on every server that speaks it: cases named after the failure modes (`t01` …)
//! and the clauses (`k01` …) that they are about.
//!
//! A binary without the standard harness: it reports a server that is missing as ignored.

mod batches;
mod blocking;
mod clients;
mod clocks;
mod closing;
mod cluster;
mod connecting;
mod counting;
mod crowds;
mod dropped;
mod endings;
mod foreign;
mod forgotten;
mod formats;
mod hanging;
mod java;
mod late_grants;
mod lost_acquires;
mod lost_endings;
mod memory;
mod migration;
mod native;
mod outages;
mod partitions;
mod pauses;
mod proxied;
mod records;
mod redisson;
mod redisson_faults;
mod restarts;
mod roles;
mod rotation;
mod scripts;
mod sentinel;
mod slots;
mod slow;
mod support;
mod tls;
mod tokens;
mod two_servers;
mod unpolled;
mod users;
mod wake_ups;

use std::process::ExitCode;

use dlock_servers::{SetClock, redis::Flavour};
use dlock_verify::support::if_available;
use libtest_mimic::Trial;

/// The library for the cases with a clock of their own.
const CLOCK: &str = "libfaketime";

/// Cases mostly wait, but the machine may have two processors, and some measure how long.
const THREADS: usize = 12;

fn main() -> ExitCode {
    dlock_verify::support::main(THREADS, Flavour::ALL.into_iter().flat_map(trials))
}

fn trials(flavour: Flavour) -> Vec<Trial> {
    let groups = [
        batches::trials,
        blocking::trials,
        closing::trials,
        cluster::trials,
        connecting::trials,
        counting::trials,
        crowds::trials,
        dropped::trials,
        endings::trials,
        foreign::trials,
        forgotten::trials,
        formats::trials,
        late_grants::trials,
        hanging::trials,
        lost_acquires::trials,
        lost_endings::trials,
        memory::trials,
        migration::trials,
        outages::trials,
        partitions::trials,
        pauses::trials,
        records::trials,
        redisson::trials,
        redisson_faults::trials,
        restarts::trials,
        roles::trials,
        rotation::trials,
        scripts::trials,
        sentinel::trials,
        slots::trials,
        slow::trials,
        tls::trials,
        tokens::trials,
        two_servers::trials,
        unpolled::trials,
        users::trials,
        wake_ups::trials,
    ];
    let mut trials: Vec<Trial> = groups.iter().flat_map(|group| group(flavour)).collect();
    if flavour == Flavour::ValkeyNewest {
        trials.extend(native::trials(flavour));
    }
    if flavour == Flavour::RedisStable {
        trials.extend(clients::trials(flavour));
        trials.extend(java::trials(flavour));
        trials.extend(if_available(
            CLOCK,
            SetClock::library(),
            clocks::trials(flavour),
        ));
    }
    if_available(flavour.name(), flavour.find(), trials)
}
