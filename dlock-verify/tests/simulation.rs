//! Core in simulations: no schedule violates the contract, and each flaw of a backend is found.
//!
//! The seeds of a default run make 400,000 grants: within a minute on two cores.

use std::{env, time::Duration};

use dlock_verify::simulation::{Conditions, Flaw, Simulation};

/// The number of seeds of each test, instead of its own.
const SEEDS_ENV: &str = "DLOCK_SIMULATION_SEEDS";

/// A flaw is found within so many seeds.
const FOUND_WITHIN: u64 = 300;

/// The schedules of one test.
struct Plan {
    what: &'static str,
    seeds: u64,
    /// The seeds make so many grants at least: a run with fewer proves less.
    grants_min: u64,
    schedule: fn(u64) -> Simulation,
}

impl Plan {
    /// Runs a schedule with each seed; prints how many grants they had.
    #[expect(
        clippy::print_stdout,
        reason = "the number of grants is what a run proves"
    )]
    fn hold(&self) {
        let Self { what, seeds, .. } = *self;
        let chosen = env::var(SEEDS_ENV).ok();
        let count = chosen.and_then(|seeds| seeds.parse().ok()).unwrap_or(seeds);
        let mut grants = 0;
        for seed in 1..=count {
            let run = (self.schedule)(seed).run();
            assert_eq!(run.violations, [""; 0], "{what}, seed {seed}");
            grants += run.grants as u64;
        }
        println!("{what}: {grants} grants in {count} schedules");
        let grants_min = self.grants_min * count / seeds;
        assert!(grants >= grants_min, "{what}: only {grants} grants");
    }
}

#[test]
fn a_bad_network_and_suspended_clients_break_no_promise() {
    let plan = Plan {
        what: "bad network",
        seeds: 3_000,
        grants_min: 125_000,
        schedule: Simulation::new,
    };
    plan.hold();
}

#[test]
fn lost_messages_leave_nothing_behind() {
    let plan = Plan {
        what: "lossy network",
        seeds: 3_500,
        grants_min: 100_000,
        schedule: |seed| {
            let lossy = Simulation::new(seed).conditions(Conditions::LOSSY);
            lossy.ttl(Duration::from_secs(60))
        },
    };
    plan.hold();
}

#[test]
fn slow_messages_leave_nothing_behind() {
    let plan = Plan {
        what: "slow network",
        seeds: 1_000,
        grants_min: 10_000,
        schedule: |seed| {
            let slow = Simulation::new(seed).conditions(Conditions::SLOW);
            slow.ttl(Duration::from_secs(60))
        },
    };
    plan.hold();
}

#[test]
fn a_fast_clock_of_the_store_breaks_no_promise() {
    let plan = Plan {
        what: "long leases",
        seeds: 2_000,
        grants_min: 112_000,
        schedule: |seed| {
            let long = Simulation::new(seed).ttl(Duration::from_millis(300));
            long.millis(1_500)
        },
    };
    plan.hold();
}

#[test]
fn many_clients_break_no_promise() {
    let plan = Plan {
        what: "many clients",
        seeds: 1_400,
        grants_min: 78_000,
        schedule: |seed| Simulation::new(seed).clients(6),
    };
    plan.hold();
}

#[test]
fn a_layer_is_tried_like_a_backend() {
    // A box of a backend is a layer that changes nothing.
    let layered = |seed| Simulation::new(seed).layer(|backend| Box::new(backend));
    for seed in 1..=20 {
        let run = layered(seed).run();
        assert_eq!(run.violations, [""; 0], "seed {seed}");
        assert_eq!(run.events, Simulation::new(seed).run().events);
    }
    let flawed = |seed| layered(seed).flaw(Flaw::ReleaseAny).run();
    assert!((1..=FOUND_WITHIN).any(|seed| !flawed(seed).violations.is_empty()));
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

/// The first seed with which `flaw` is found, and what is found.
fn found(flaw: Flaw) -> Option<(u64, String)> {
    let plan = |seed| match flaw {
        // What is left behind is found when no ttl ends it.
        Flaw::NoUndo => Simulation::new(seed)
            .conditions(Conditions::LOSSY)
            .ttl(Duration::from_secs(60)),
        // Holds of several renewals, of which the later ones must fail: they would mend it.
        Flaw::RenewalFromReply => Simulation::new(seed)
            .ttl(Duration::from_millis(150))
            .millis(1_500),
        _ => Simulation::new(seed),
    };
    let (seed, violation) = (1..=FOUND_WITHIN).find_map(|seed| {
        let violations = plan(seed).flaw(flaw).run().violations;
        Some((seed, violations.into_iter().next()?))
    })?;
    // The flaw is found, and not the schedule.
    assert_eq!(
        plan(seed).run().violations,
        [""; 0],
        "{flaw:?}, seed {seed}"
    );
    Some((seed, violation))
}

#[test]
fn each_flaw_of_a_backend_is_found() {
    for flaw in Flaw::ALL {
        let found = found(flaw);
        let (seed, violation) = found.unwrap_or_else(|| panic!("{flaw:?} was not found"));
        println!("{flaw:?}: seed {seed}: {violation}");
    }
}
