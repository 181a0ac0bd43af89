//! The searches: the order of changes and the comparison are right, and each is needed.

use super::{
    commands::Mutant,
    model::Operators,
    state::{Record, Stage},
};
use crate::{
    bounds::bound,
    search::{Broken, Clause, search},
};

/// No search visits more states.
const STATES_MAX: usize = 20_000_000;

/// No migration was begun.
const NONE: [Option<Record>; 2] = [None; 2];

/// A switch was cut off after its first change.
const CLOSED: [Option<Record>; 2] = [record(Stage::Closed), record(Stage::Arriving)];

/// A switch was done.
const SWITCHED: [Option<Record>; 2] = [record(Stage::Left), record(Stage::Arrived)];

/// The old store has lost its record after the switch.
const LOST: [Option<Record>; 2] = [None, record(Stage::Arrived)];

/// The old store has lost its record before the switch.
const LOST_EARLY: [Option<Record>; 2] = [None, record(Stage::Arriving)];

const fn record(stage: Stage) -> Option<Record> {
    Some(Record {
        stage,
        id: 7,
        by: 7,
    })
}

fn searched(
    begins: [Option<Record>; 2],
    commands: u8,
    back: bool,
    mutant: Option<Mutant>,
) -> Result<usize, Broken> {
    let operators = Operators {
        begins,
        commands,
        back,
        mutant,
    };
    search(&operators, STATES_MAX).map(|reached| reached.states.len())
}

#[test]
fn operators_at_the_same_time_agree() {
    let states = searched(NONE, bound(4, 6), false, None).expect("the design holds");
    println!("2 operators: {states} states");
}

#[test]
fn operators_of_both_directions_agree() {
    let states = searched(NONE, bound(3, 5), true, None).expect("the design holds");
    println!("2 operators, both directions: {states} states");
}

#[test]
fn operators_after_a_switch_that_was_cut_off_agree() {
    let states = searched(CLOSED, bound(3, 5), true, None).expect("the design holds");
    println!("2 operators after a cut: {states} states");
}

#[test]
fn operators_after_a_loss_in_the_old_store_agree() {
    for begins in [LOST, LOST_EARLY] {
        let states = searched(begins, bound(3, 5), true, None).expect("the design holds");
        println!("2 operators after a loss: {states} states");
    }
}

/// Leaving out `mutant` is found in so many steps, and not in fewer.
#[track_caller]
fn breaks(begins: [Option<Record>; 2], mutant: Mutant, steps: usize) {
    breaks_with(begins, 3, mutant, steps);
}

#[track_caller]
fn breaks_with(begins: [Option<Record>; 2], commands: u8, mutant: Mutant, steps: usize) {
    let back = commands > 3;
    let broken = searched(begins, commands, back, Some(mutant)).err();
    let broken = broken.unwrap_or_else(|| panic!("{mutant:?} breaks nothing"));
    let found = (broken.clause, broken.trace.len());
    assert_eq!(found, (Clause::Records, steps), "{broken}");
}

#[test]
fn a_change_that_compares_nothing() {
    breaks(NONE, Mutant::Blind, 15);
}

#[test]
fn a_cancellation_that_begins_in_the_old_store() {
    breaks(NONE, Mutant::CancelsOldFirst, 15);
}

#[test]
fn a_switch_that_begins_in_the_new_store() {
    breaks(NONE, Mutant::SwitchesNewFirst, 9);
}

/// Another migration is begun between its two reads.
#[test]
fn a_cancellation_of_another_migration() {
    breaks_with(CLOSED, 4, Mutant::CancelsOther, 21);
}

/// A start that is on its way goes on after the cancellation, which kept the record of the new store.
#[test]
fn a_cancellation_that_a_start_does_not_see() {
    breaks_with(SWITCHED, 4, Mutant::CancelsUnseen, 20);
}

/// The migration is cancelled between its two reads, and another one is begun.
#[test]
fn a_switch_that_reads_each_record_once() {
    breaks(CLOSED, Mutant::ReadsOnce, 15);
}

/// The locks move back between its two reads, so that the old store has another record than it seems to have lost.
#[test]
fn a_switch_that_reads_the_new_store_first() {
    breaks_with(SWITCHED, 4, Mutant::ReadsNewFirst, 16);
}
