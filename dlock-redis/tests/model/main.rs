//! A model of how locks are granted, walked at random. It has the servers' scripts and their clients. Messages are
//! lost and late, data are forgotten, roles change and clocks are off.
//!
//! `DLOCK_MODEL_WALKS` says how many walks each test makes; the seed of a walk is its number.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is a test, helpers included"
)]

mod checks;
mod client;
mod dice;
mod fault;
mod faults;
mod mutants;
mod rules;
mod server;
mod units;
mod walk;
mod world;

use std::env;

use rules::{Rules, Setting};
use walk::walk;

/// The default number of walks of the design.
const WALKS: u64 = 4_000;

/// So many grants a walk has on the average, or it shows nothing.
const GRANTS_MIN: usize = 3;

#[test]
fn the_design_holds_with_clocks_that_agree() {
    holds(Setting::Agreed);
}

#[test]
fn the_design_holds_with_clocks_that_are_off() {
    holds(Setting::Skewed);
}

#[test]
fn the_design_holds_with_clocks_that_are_set_back() {
    holds(Setting::SetBack);
}

#[test]
fn tokens_hold_for_each_client_with_clocks_that_are_set_forward() {
    holds(Setting::SetForward);
}

#[test]
fn tokens_hold_where_exclusion_does_not() {
    holds(Setting::Excepted);
}

#[track_caller]
fn holds(setting: Setting) {
    let walks = env::var("DLOCK_MODEL_WALKS").ok();
    let walks = walks.map_or(WALKS, |walks| walks.parse().expect("a number"));
    let mut grants = 0;
    for seed in 0..walks {
        match walk(seed, Rules::design(setting)) {
            Ok(granted) => grants += granted,
            Err(violation) => panic!("seed {seed}, {setting:?}: {violation}"),
        }
    }
    let expected = GRANTS_MIN * usize::try_from(walks).expect("not that many");
    assert!(grants >= expected, "only {grants} grants in {walks} walks");
}
