//! The searches: the design holds, and each rule that is left out is missed.

use super::{
    model::Quorum,
    rules::{Mutant, Rules},
};
use crate::{
    bounds::bound,
    search::{Clause, search},
    walk::walk,
};

/// No search visits more states.
const STATES_MAX: usize = 20_000_000;

/// The seed of the walks.
const SEED: u64 = 7;

/// The number of states, all of which keep the promises.
#[track_caller]
fn holds<const C: usize>(rules: Rules) -> usize {
    let reached = search(&Quorum::<3, C> { rules }, STATES_MAX);
    reached.expect("the design holds").states.len()
}

#[test]
fn tokens_grow_with_all_faults() {
    let rules = Rules {
        acquires: bound(3, 4),
        ..Rules::DESIGN
    };
    println!("2 clients: {} states", holds::<2>(rules));
}

#[test]
fn tokens_grow_over_more_acquires() {
    let rules = Rules {
        acquires: bound(4, 5),
        lost_replies: false,
        crashes: bound(false, true),
        ..Rules::DESIGN
    };
    println!("2 clients, no lost replies: {} states", holds::<2>(rules));
    let rules = Rules {
        acquires: bound(3, 4),
        ..rules
    };
    println!("3 clients, no lost replies: {} states", holds::<3>(rules));
}

#[test]
fn tokens_grow_where_nodes_forget() {
    let rules = Rules {
        forgets: bound(1, 3),
        crashes: false,
        lost_replies: false,
        ..Rules::DESIGN
    };
    println!("2 clients, nodes forget: {} states", holds::<2>(rules));
}

/// The third client has a name of its own, and raises the same counters.
#[test]
fn tokens_grow_beside_another_name_of_the_same_counters() {
    let rules = Rules {
        names: 2,
        acquires: 3,
        forgets: bound(0, 1),
        crashes: false,
        lost_replies: false,
        ..Rules::DESIGN
    };
    println!("3 clients, 2 names: {} states", holds::<3>(rules));
}

#[test]
fn walks_of_larger_quorums_keep_all_promises() {
    let need = |need| Rules {
        need,
        names: 2,
        acquires: 12,
        ..Rules::DESIGN
    };
    let mut grants = walked::<4>(need(3));
    grants += walked::<5>(need(3));
    grants += walked::<5>(need(4));
    grants += walked::<5>(need(5));
    grants += walked::<5>(Rules {
        forgets: 6,
        ..need(3)
    });
    println!("4 and 5 nodes: {grants} grants");
}

fn walked<const N: usize>(rules: Rules) -> u64 {
    let walks = bound(100, 20_000);
    let grants = walk(&Quorum::<N, 3> { rules }, SEED, walks, 400).expect("the design holds");
    assert!(grants >= u64::from(walks), "only {grants} grants");
    grants
}

/// Leaving out `mutant` breaks `clause`, and not in fewer `steps`.
#[track_caller]
fn breaks(rules: Rules, mutant: Mutant, clause: Clause, steps: usize) {
    let mutant = Some(mutant);
    let rules = Rules { mutant, ..rules };
    let broken = search(&Quorum::<3, 2> { rules }, STATES_MAX).err();
    let broken = broken.unwrap_or_else(|| panic!("{mutant:?} breaks nothing"));
    assert_eq!(
        (broken.clause, broken.trace.len()),
        (clause, steps),
        "{broken}"
    );
}

/// Nothing fails.
const CALM: Rules = Rules {
    crashes: false,
    lost_replies: false,
    ..Rules::DESIGN
};

/// Nothing fails but what a node remembers.
const FORGETFUL: Rules = Rules { forgets: 2, ..CALM };

#[test]
fn a_token_that_is_not_written_back() {
    breaks(CALM, Mutant::NoRaise, Clause::Tokens, 12);
}

#[test]
fn a_token_that_one_node_confirms() {
    breaks(CALM, Mutant::OneRaise, Clause::Tokens, 14);
}

#[test]
fn the_smallest_token_of_the_nodes() {
    breaks(CALM, Mutant::SmallestToken, Clause::Tokens, 12);
}

#[test]
fn fewer_nodes_than_a_majority() {
    breaks(CALM, Mutant::NoMajority, Clause::Exclusion, 8);
}

#[test]
fn a_raise_of_another_ones_entry() {
    breaks(FORGETFUL, Mutant::BlindRaise, Clause::Tokens, 14);
}

/// A quorum needs nodes that keep their counters: the declared exception.
#[test]
fn nodes_that_forget_their_counters() {
    breaks(FORGETFUL, Mutant::CounterForgotten, Clause::Tokens, 11);
}
