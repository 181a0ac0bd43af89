//! A quorum of real Redis servers under faults: cases named after the scenarios (`t80` …) that they are about.
//!
//! A binary without the standard harness: it reports a server that is missing as ignored.

mod ahead;
mod cut_off;
mod down_at_start;
mod emptied;
mod hand_over;
mod hanging;
mod majority_down;
mod program;
mod servers;
mod support;

use std::process::ExitCode;

use dlock_servers::redis::Flavour;
use dlock_verify::support::if_available;
use libtest_mimic::Trial;

/// Cases mostly wait, but the machine may have two processors.
const THREADS: usize = 8;

/// The servers: the newest of each project.
const FLAVOURS: [Flavour; 2] = [Flavour::RedisNewest, Flavour::ValkeyNewest];

fn main() -> ExitCode {
    dlock_verify::support::main(THREADS, FLAVOURS.into_iter().flat_map(trials))
}

fn trials(flavour: Flavour) -> Vec<Trial> {
    let groups = [
        ahead::trials,
        cut_off::trials,
        down_at_start::trials,
        emptied::trials,
        hand_over::trials,
        hanging::trials,
        majority_down::trials,
    ];
    let trials = groups.iter().flat_map(|group| group(flavour));
    if_available(flavour.name(), flavour.find(), trials.collect())
}
