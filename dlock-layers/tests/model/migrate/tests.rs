//! The searches: the design holds, and each rule that is left out is missed.

use super::{
    model::Move,
    rules::{
        Barrier, Mutant, Rules, Stage,
        Url::{self, Both, New, Old},
    },
    state::State,
};
use crate::{
    bounds::bound,
    search::{Broken, Clause, Reached, search},
    walk::walk,
};

/// No search visits more states.
const STATES_MAX: usize = 20_000_000;

/// The seed of the walks.
const SEED: u64 = 500;

/// So many grants each walk has on the average, or it shows nothing.
const GRANTS_MIN: u64 = 3;

fn searched<const N: usize>(urls: [Url; N], rules: Rules) -> Result<Reached<State<N>>, Broken> {
    search(&Move { rules, urls }, STATES_MAX)
}

/// The number of states, all of which keep the promises.
#[track_caller]
fn holds<const N: usize>(urls: [Url; N], rules: Rules) -> usize {
    let reached = searched(urls, rules).expect("the design holds");
    reached.states.len()
}

/// From every state each process can still be granted the lock without a further fault.
#[track_caller]
fn serves<const N: usize>(reached: &Reached<State<N>>) {
    for url in [Old, Both, New] {
        let stuck = stuck(reached, url);
        assert!(stuck.is_none(), "{url:?}: {stuck:#?}");
    }
}

fn stuck<const N: usize>(
    reached: &Reached<State<N>>,
    url: Url,
) -> Option<Vec<crate::search::What>> {
    let has_url = |state: &State<N>| state.processes.iter().any(|process| process.url == url);
    reached.stuck(url as u8, has_url)
}

#[test]
fn a_whole_move_excludes_and_serves() {
    let reached = searched([Old; 3], Rules::DESIGN).expect("the design holds");
    serves(&reached);
    println!(
        "a whole move of 3 processes: {} states",
        reached.states.len()
    );
}

#[test]
fn tokens_grow_over_a_whole_move() {
    let rules = Rules {
        entries_max: bound(2, 4),
        ..Rules::DESIGN
    };
    println!(
        "with tokens, 2 processes: {} states",
        holds([Old; 2], rules)
    );
}

#[test]
fn tokens_grow_over_a_whole_move_of_three_processes() {
    let rules = Rules {
        entries_max: bound(1, 2),
        lapses: false,
        ..Rules::DESIGN
    };
    println!(
        "with tokens, 3 processes: {} states",
        holds([Old; 3], rules)
    );
}

#[test]
fn walks_of_four_processes_keep_all_promises() {
    let rules = Rules {
        entries_max: 60,
        ..Rules::DESIGN
    };
    let walks = bound(300, 20_000);
    let model = Move {
        rules,
        urls: [Old; 4],
    };
    let grants = walk(&model, SEED, walks, 400).expect("the design holds");
    println!("4 processes: {grants} grants in {walks} walks");
    assert!(
        grants >= GRANTS_MIN * u64::from(walks),
        "only {grants} grants"
    );
}

/// Processes with the old store alone may be left.
#[test]
fn a_barrier_of_the_stores_needs_no_people() {
    let rules = Rules {
        barrier: Barrier::Stores,
        outages: bound(false, true),
        ..Rules::DESIGN
    };
    println!(
        "the barrier of the stores: {} states",
        holds([Old; 3], rules)
    );
    let rules = Rules {
        entries_max: bound(2, 3),
        outages: true,
        ..rules
    };
    println!(
        "the same with tokens, 2 processes: {} states",
        holds([Old; 2], rules)
    );
}

#[test]
fn waits_without_an_end_end() {
    let rules = Rules {
        waits_end: false,
        ..Rules::FIXED
    };
    serves(&searched([Both; 3], rules).expect("before the switch"));
    let switched = Rules {
        begins: Stage::Arrived,
        ..rules
    };
    serves(&searched([Both, Both, New], switched).expect("after it"));
}

/// Of two processes each has what the other one waits for.
#[test]
fn waits_in_two_orders_can_deadlock() {
    let rules = Rules {
        waits_end: false,
        outages: false,
        crashes: false,
        lapses: false,
        lost_replies: false,
        mutant: Some(Mutant::OtherOrder),
        ..Rules::FIXED
    };
    let reached = searched([Both; 2], rules).expect("they exclude each other");
    let stuck = stuck(&reached, Both).expect("a deadlock");
    assert_eq!(stuck.len() - 1, 2, "{stuck:#?}");
}

/// The design does not cover it: `clause` breaks, and not in fewer `steps`.
#[track_caller]
fn breaks_as_it_is<const N: usize>(urls: [Url; N], rules: Rules, clause: Clause, steps: usize) {
    let broken = searched(urls, rules).err().expect("a violation");
    assert_eq!(
        (broken.clause, broken.trace.len()),
        (clause, steps),
        "{broken}"
    );
}

/// Leaving out `mutant` breaks `clause`, and not in fewer `steps`.
#[track_caller]
fn breaks<const N: usize>(
    urls: [Url; N],
    rules: Rules,
    mutant: Mutant,
    clause: Clause,
    steps: usize,
) {
    let mutant = Some(mutant);
    let broken = searched(urls, Rules { mutant, ..rules }).err();
    let broken = broken.unwrap_or_else(|| panic!("{mutant:?} breaks nothing"));
    assert_eq!(
        (broken.clause, broken.trace.len()),
        (clause, steps),
        "{broken}"
    );
    // It is the mutant that breaks it.
    holds(urls, rules);
}

/// Two processes are enough for each violation.
const FEW: Rules = Rules {
    entries_max: 2,
    ..Rules::FIXED
};

/// Without tokens.
const EXCLUSION: Rules = Rules {
    entries_max: 0,
    ..Rules::FIXED
};

#[test]
fn a_switch_with_the_old_store_alone_left() {
    breaks(
        [Old, Both],
        EXCLUSION,
        Mutant::SwitchTooEarly,
        Clause::Exclusion,
        8,
    );
}

#[test]
fn the_old_store_alone_after_it_was_closed() {
    let rules = Rules {
        moves: true,
        begins: Stage::Arrived,
        ..EXCLUSION
    };
    breaks(
        [Both; 2],
        rules,
        Mutant::OldAloneConnects,
        Clause::Exclusion,
        6,
    );
}

#[test]
fn the_new_store_alone_before_the_switch() {
    let rules = Rules {
        moves: true,
        ..EXCLUSION
    };
    breaks(
        [Old, Both],
        rules,
        Mutant::NewAloneConnects,
        Clause::Exclusion,
        5,
    );
    // Beside `migrate:` alone it excludes, and its tokens are too large.
    breaks_as_it_is([Both, New], FEW, Clause::Tokens, 7);
}

#[test]
fn a_record_that_is_read_too_early() {
    breaks([Both; 2], FEW, Mutant::ReadsBeforeLocks, Clause::Tokens, 10);
}

#[test]
fn configurations_in_the_place_of_a_record() {
    breaks([Both; 2], FEW, Mutant::NoRecord, Clause::Tokens, 7);
}

#[test]
fn a_new_store_that_may_be_missing() {
    breaks(
        [Both; 2],
        EXCLUSION,
        Mutant::NewIsOptional,
        Clause::Exclusion,
        10,
    );
}

#[test]
fn an_old_store_that_is_passed_over_before_the_switch() {
    breaks(
        [Old, Both],
        EXCLUSION,
        Mutant::SkipsUnread,
        Clause::Exclusion,
        6,
    );
}

#[test]
fn a_lock_that_was_lost_before_the_grant() {
    breaks(
        [Both; 2],
        EXCLUSION,
        Mutant::LostPartGranted,
        Clause::Exclusion,
        12,
    );
}

#[test]
fn the_deadline_of_one_of_both() {
    breaks(
        [Old, Both],
        EXCLUSION,
        Mutant::DeadlineOfNew,
        Clause::Exclusion,
        8,
    );
}

#[test]
fn a_renewal_that_does_not_read_the_record() {
    breaks(
        [Old, Both],
        EXCLUSION,
        Mutant::DropsOldUnread,
        Clause::Exclusion,
        9,
    );
}

#[test]
fn a_token_that_is_not_compared() {
    let rules = Rules { base: 0, ..FEW };
    breaks([Both; 2], rules, Mutant::TokenUnchecked, Clause::Tokens, 13);
}

/// The comparison is one of processes with `migrate:`. What the old store alone granted before is not compared, so
/// the base has to be above that: `dlock migrate start` sees to it.
#[test]
fn a_base_below_the_tokens_of_the_old_store_alone() {
    let rules = Rules {
        base: 0,
        moves: true,
        ..FEW
    };
    breaks_as_it_is([Old; 2], rules, Clause::Tokens, 10);
}

#[test]
fn a_switch_that_does_not_wait_for_the_proofs() {
    let rules = Rules {
        barrier: Barrier::Stores,
        ..EXCLUSION
    };
    breaks(
        [Old, Both],
        rules,
        Mutant::SwitchDoesNotWait,
        Clause::Exclusion,
        8,
    );
}

#[test]
fn a_hold_that_outlives_its_proof() {
    let rules = Rules {
        barrier: Barrier::Stores,
        ..EXCLUSION
    };
    breaks(
        [Old, Both],
        rules,
        Mutant::ProofForgotten,
        Clause::Exclusion,
        9,
    );
}

/// With `migrate:` the proof is one for the token.
#[test]
fn a_switch_that_does_not_wait_for_those_with_both() {
    breaks(
        [Both; 2],
        FEW,
        Mutant::SwitchDoesNotWait,
        Clause::Tokens,
        12,
    );
}

#[test]
fn a_grant_with_both_after_the_proof() {
    breaks([Both; 2], FEW, Mutant::ProofForgotten, Clause::Tokens, 11);
}
