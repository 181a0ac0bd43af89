//! The commands, step by step, as `migrate/steps.rs` of the crate has them.

use super::state::{At, Command, Job, Record, Stage, State};
use crate::search::{Clause, Kind, Step, What};

/// A broken copy of the design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// A change does not compare the record with what was read.
    Blind,
    /// `cancel` changes the old store first.
    CancelsOldFirst,
    /// `switch` changes the new store first.
    SwitchesNewFirst,
    /// `cancel` changes the record of another migration in the new store.
    CancelsOther,
    /// `cancel` leaves a new store that was left earlier as it is, so that a start goes on.
    CancelsUnseen,
    /// The new store's record is read before the old store's, which may have lost its own.
    ReadsNewFirst,
    /// `switch` takes a new store with another record for one that has lost its own, without another read.
    ReadsOnce,
}

const CHANGED: &str = "finds that another one has changed the record";

/// A change of a record: in the old store or in the new one.
#[derive(Clone, Copy)]
enum Change {
    Old(Stage),
    New(Stage),
    /// The record in the new store stays, with another text.
    Kept,
}

/// Adds the next steps of the command.
pub(super) fn go_on(
    mutant: Option<Mutant>,
    from: &State,
    operator: usize,
    command: Command,
    steps: &mut Vec<Step<State>>,
) {
    let (old, new) = (command.old, 1 - command.old);
    let mut next = *from;
    let mut reader = command;
    match command.at {
        At::Reading(done) if (done == 0) != (mutant == Some(Mutant::ReadsNewFirst)) => {
            reader.in_old = from.records[old];
            reader.at = after_reading(mutant, done, &reader);
            next.commands[operator] = Some(reader);
            steps.push(step(operator, "reads the old store's record", next));
        }
        At::Reading(done) => {
            reader.in_new = from.records[new];
            reader.at = after_reading(mutant, done, &reader);
            next.commands[operator] = Some(reader);
            steps.push(step(operator, "reads the new store's record", next));
        }
        At::Checking if from.records[old] == command.in_old => {
            reader.at = At::Changing(0);
            next.commands[operator] = Some(reader);
            steps.push(step(
                operator,
                "finds the old store's record as it was",
                next,
            ));
        }
        At::Checking => {
            next.commands[operator] = None;
            steps.push(step(operator, CHANGED, next));
        }
        At::Changing(done) => {
            let planned = changes(mutant, &command);
            let change = planned.as_ref().and_then(|(id, changes)| {
                let change = changes.get(usize::from(done))?;
                Some((*id, *change))
            });
            match change {
                Some((id, change)) => steps.push(apply(mutant, from, operator, id, change)),
                None => {
                    next.commands[operator] = None;
                    steps.push(step(operator, "is done", next));
                }
            }
        }
    }
    let mut cut_off = *from;
    cut_off.commands[operator] = None;
    let what = What {
        who: Some(operator),
        does: "is cut off",
        kind: Kind::Fault,
    };
    steps.push(Step {
        what,
        to: cut_off,
        broken: None,
    });
}

fn after_reading(mutant: Option<Mutant>, done: u8, reader: &Command) -> At {
    let is_checked = mutant != Some(Mutant::ReadsOnce) && has_lost_its_record(reader);
    match done {
        0 => At::Reading(1),
        _ if is_checked => At::Checking,
        _ => At::Changing(0),
    }
}

/// Whether a switch takes the new store for one that has lost its record.
fn has_lost_its_record(command: &Command) -> bool {
    let is_closed = |old: Record| matches!(old.stage, Stage::Closed | Stage::Left);
    let old = command.in_old.filter(|old| is_closed(*old));
    let is_of = |old: Record| command.in_new.is_some_and(|new| new.id == old.id);
    command.job == Job::Switch && old.is_some_and(|old| !is_of(old))
}

/// The record in the new store, if the old one has lost that of the same migration.
fn lost_by_old(command: &Command) -> Option<Record> {
    use Stage::{Arrived, Arriving, Cancelled};
    let new = command
        .in_new
        .filter(|new| matches!(new.stage, Arrived | Arriving))?;
    let is_of_earlier = |old: Record| old.id != new.id && matches!(old.stage, Cancelled | Arrived);
    command.in_old.is_none_or(is_of_earlier).then_some(new)
}

/// The changes of a start, and the identity of the migration; none for one that is refused.
fn start(command: &Command) -> Option<(u8, Vec<Change>)> {
    use Stage::{Arrived, Arriving, Cancelled, Leaving, Left};
    let (old, new) = (command.in_old, command.in_new);
    let id = match old {
        Some(found) if found.stage == Leaving => found.id,
        None => command.number,
        Some(found) if matches!(found.stage, Cancelled | Arrived) => command.number,
        Some(_) => return None,
    };
    match new {
        Some(found) if found.stage == Arriving && found.id == id => Some((id, Vec::new())),
        Some(found) if !matches!(found.stage, Cancelled | Left) => None,
        _ => Some((id, vec![Change::Old(Leaving), Change::New(Arriving)])),
    }
}

/// The changes that follow from what was read, and the identity of the migration; none for a command that is refused.
fn changes(mutant: Option<Mutant>, command: &Command) -> Option<(u8, Vec<Change>)> {
    use Stage::{Arrived, Arriving, Cancelled, Closed, Leaving, Left};
    let (old, new) = (command.in_old, command.in_new);
    if command.job == Job::Start {
        return start(command);
    }
    if let Some(lost) = lost_by_old(command) {
        return match (command.job, lost.stage) {
            (Job::Switch, Arrived) => Some((lost.id, vec![Change::Old(Left)])),
            (Job::Cancel, Arriving) => Some((lost.id, vec![Change::New(Cancelled)])),
            _ => None,
        };
    }
    let old = old?;
    let is_of_other = |new: &Record| new.id != old.id && !matches!(new.stage, Cancelled | Left);
    if mutant != Some(Mutant::ReadsOnce)
        && has_lost_its_record(command)
        && new.as_ref().is_some_and(is_of_other)
    {
        return None;
    }
    let of_this = new.filter(|new| new.id == old.id).map(|new| new.stage);
    let changes = match (command.job, old.stage, of_this) {
        (Job::Switch, Leaving, Some(Arriving)) => {
            let changes = vec![Change::Old(Closed), Change::New(Arrived), Change::Old(Left)];
            match mutant {
                Some(Mutant::SwitchesNewFirst) => vec![changes[1], changes[0], changes[2]],
                _ => changes,
            }
        }
        (Job::Switch, Leaving | Closed, Some(Arrived)) => vec![Change::Old(Left)],
        (Job::Switch, Left, Some(Arrived)) => Vec::new(),
        (Job::Switch, Closed, None | Some(Arriving)) => {
            vec![Change::New(Arrived), Change::Old(Left)]
        }
        (Job::Switch, Left, None | Some(Arriving)) => vec![Change::New(Arrived)],
        (Job::Cancel, Left, _) | (Job::Cancel, _, Some(Arrived)) => return None,
        (Job::Cancel, Cancelled, Some(Leaving | Closed | Left)) => return None,
        (Job::Cancel, Leaving | Closed | Cancelled, stage) => {
            let is_kept = |stage| match mutant {
                Some(Mutant::CancelsOther) => stage == Left,
                _ => stage != Cancelled,
            };
            let keeps = new.is_some_and(|new| new.id != old.id && is_kept(new.stage));
            let mut changes = Vec::new();
            if stage != Some(Cancelled) && !keeps {
                changes.push(Change::New(Cancelled));
            }
            if new.is_some_and(|new| new.id != old.id && new.stage == Left)
                && mutant != Some(Mutant::CancelsUnseen)
            {
                changes.push(Change::Kept);
            }
            if old.stage != Cancelled {
                changes.push(Change::Old(Cancelled));
            }
            if mutant == Some(Mutant::CancelsOldFirst) {
                changes.reverse();
            }
            changes
        }
        _ => return None,
    };
    Some((old.id, changes))
}

/// A compare-and-set: the command ends if the record has changed since it was read.
fn apply(
    mutant: Option<Mutant>,
    from: &State,
    operator: usize,
    id: u8,
    change: Change,
) -> Step<State> {
    let mut next = *from;
    let Some(mut command) = from.commands[operator] else {
        return step(operator, "is done", next);
    };
    let (store, expected, stage) = match change {
        Change::Old(stage) => (command.old, command.wrote.or(command.in_old), stage),
        Change::New(stage) => (1 - command.old, command.in_new, stage),
        Change::Kept => (1 - command.old, command.in_new, Stage::Left),
    };
    if from.records[store] != expected && mutant != Some(Mutant::Blind) {
        next.commands[operator] = None;
        return step(operator, CHANGED, next);
    }
    let id = match change {
        Change::Kept => command.in_new.map_or(id, |kept| kept.id),
        Change::Old(_) | Change::New(_) => id,
    };
    let record = Record {
        stage,
        id,
        by: command.number,
    };
    next.records[store] = Some(record);
    if matches!(change, Change::Old(_)) {
        command.wrote = Some(record);
    }
    if let At::Changing(done) = command.at {
        command.at = At::Changing(done + 1);
    }
    next.commands[operator] = Some(command);
    step(operator, name(change), next)
}

fn name(change: Change) -> &'static str {
    match change {
        Change::Old(Stage::Leaving) => "writes leaving",
        Change::Old(Stage::Closed) => "writes closed",
        Change::Old(Stage::Left) => "writes left",
        Change::New(Stage::Arriving) => "writes arriving",
        Change::New(Stage::Arrived) => "writes arrived",
        Change::Old(_) | Change::New(_) => "writes cancelled",
        Change::Kept => "writes left once more",
    }
}

pub(super) fn step(operator: usize, does: &'static str, to: State) -> Step<State> {
    let what = What {
        who: Some(operator),
        does,
        kind: Kind::Work,
    };
    let broken = to.is_broken().then_some(Clause::Records);
    Step { what, to, broken }
}
