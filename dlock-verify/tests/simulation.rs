//! Core in simulations: no schedule violates the contract, and each flaw of a backend is found.

use std::{env, time::Duration};

use dlock_verify::simulation::{Conditions, Flaw, Simulation};

/// The number of seeds of each test; by default few enough for each build.
const SEEDS_ENV: &str = "DLOCK_SIMULATION_SEEDS";
const SEEDS: u64 = 300;

/// A flaw is found within so many seeds.
const FOUND_WITHIN: u64 = 300;

fn seeds() -> std::ops::RangeInclusive<u64> {
    let seeds = env::var(SEEDS_ENV)
        .ok()
        .and_then(|seeds| seeds.parse().ok());
    1..=seeds.unwrap_or(SEEDS)
}

/// Runs a schedule with each seed; prints how many grants they had.
#[expect(
    clippy::print_stdout,
    reason = "the number of grants is what a run proves"
)]
fn hold(what: &str, plan: impl Fn(u64) -> Simulation) {
    let mut grants = 0;
    for seed in seeds() {
        let run = plan(seed).run();
        assert!(
            run.violations.is_empty(),
            "{what}, seed {seed}: {:#?}",
            run.violations
        );
        grants += run.grants;
    }
    println!("{what}: {grants} grants in {} schedules", seeds().count());
    assert!(
        grants > seeds().count() * 10,
        "{what}: only {grants} grants"
    );
}

#[test]
fn a_bad_network_and_suspended_clients_break_no_promise() {
    hold("bad network", Simulation::new);
}

#[test]
fn lost_messages_leave_nothing_behind() {
    let plan = |seed| {
        let lossy = Simulation::new(seed).conditions(Conditions::LOSSY);
        lossy.ttl(Duration::from_secs(60))
    };
    hold("lossy network", plan);
}

#[test]
fn a_fast_clock_of_the_store_breaks_no_promise() {
    let plan = |seed| {
        Simulation::new(seed)
            .ttl(Duration::from_millis(300))
            .millis(1_500)
    };
    hold("long leases", plan);
}

#[test]
fn many_clients_break_no_promise() {
    let plan = |seed| Simulation::new(seed).clients(6).millis(200);
    hold("many clients", plan);
}

#[test]
fn a_seed_is_replayed_event_for_event() {
    for seed in 1..=50 {
        let [first, second] = [(); 2].map(|()| Simulation::new(seed).run());
        assert_eq!(first.events, second.events, "seed {seed}");
        assert_eq!(first.accesses, second.accesses, "seed {seed}");
    }
    let [one, other] = [1, 2].map(|seed| Simulation::new(seed).run());
    assert_ne!(one.events, other.events);
}

/// The first seed with which `flaw` is found.
fn found(flaw: Flaw, conditions: Conditions, ttl: Duration) -> Option<u64> {
    (1..=FOUND_WITHIN).find(|seed| {
        let plan = Simulation::new(*seed).conditions(conditions).ttl(ttl);
        !plan.flaw(flaw).run().violations.is_empty()
    })
}

#[test]
fn each_flaw_of_a_backend_is_found() {
    let short = Duration::from_millis(60);
    for flaw in [
        Flaw::DeadlineFromReply,
        Flaw::RenewBlindly,
        Flaw::ReleaseAny,
        Flaw::ShrinkingTokens,
    ] {
        let seed = found(flaw, Conditions::BAD, short);
        assert!(seed.is_some(), "{flaw:?} was not found");
    }
    let seed = found(Flaw::NoUndo, Conditions::LOSSY, Duration::from_secs(60));
    assert!(
        seed.is_some(),
        "what has no reply was left behind, unnoticed"
    );
}
