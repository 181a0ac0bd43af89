//! MySQL and MariaDB under faults: cases named after the failure modes (`t60` …) that they are about.
//!
//! A binary without the standard harness: it reports a server that is missing as ignored.

mod clocks;
mod connecting;
mod contended;
mod cut_off;
mod endings;
mod failover;
mod guard;
mod holder;
mod idle;
mod kills;
mod layout;
mod loss_detection;
mod migration;
mod new_names;
mod prepared;
mod relay;
mod sessions;
mod sharing;
mod support;
mod switchover;
mod tables;
mod tokens;
mod vanished;

use std::process::ExitCode;

use dlock_servers::{SetClock, mysql::Flavour};
use dlock_verify::support::if_available;
use libtest_mimic::Trial;

/// The library for the cases with a clock of their own.
const CLOCK: &str = "libfaketime";

/// Each case has a server of its own, which takes a second of a processor to start. With more at once some are too late.
const THREADS: usize = 5;

fn main() -> ExitCode {
    if let Some(code) = holder::serve_if_requested() {
        return code;
    }
    dlock_verify::support::main(THREADS, Flavour::ALL.into_iter().flat_map(trials))
}

fn trials(flavour: Flavour) -> Vec<Trial> {
    let files = [
        connecting::trials(flavour),
        contended::trials(flavour),
        new_names::trials(flavour),
        cut_off::trials(flavour),
        endings::trials(flavour),
        failover::trials(flavour),
        guard::trials(flavour),
        idle::trials(flavour),
        kills::trials(flavour),
        layout::trials(flavour),
        prepared::trials(flavour),
        sessions::trials(flavour),
        sharing::trials(flavour),
        switchover::trials(flavour),
        tables::trials(flavour),
        loss_detection::trials(flavour),
        migration::trials(flavour),
        tokens::trials(flavour),
        vanished::trials(flavour),
        if_available(CLOCK, SetClock::library(), clocks::trials(flavour)),
    ];
    if_available(
        flavour.name(),
        flavour.find(),
        files.into_iter().flatten().collect(),
    )
}
