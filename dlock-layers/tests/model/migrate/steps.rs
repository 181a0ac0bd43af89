//! The steps of one process: its acquire, its grant, and the end of its hold.

use super::{
    rules::{Barrier, Mutant, NEW, OLD, Rules, Stage, Url},
    state::{At, Entry, Part, Process, State},
};
use crate::search::{Clause, Kind, Step, What};

type Steps<const N: usize> = Vec<Step<State<N>>>;

/// Adds what the process `index` can do.
pub(super) fn of_process<const N: usize>(
    rules: &Rules,
    from: &State<N>,
    index: usize,
    steps: &mut Steps<N>,
) {
    let process = from.processes[index];
    match process.at {
        At::Down => {}
        At::Idle => {
            let order = order(rules, process.url, index);
            take(rules, from, index, order[0], steps);
            pass_over(rules, from, index, steps);
            if rules.is(Mutant::ReadsBeforeLocks) && process.url == Url::Both && from.up[NEW] {
                let mut reader = process;
                reader.knows = from.stage == Stage::Arrived;
                steps.push(work(
                    index,
                    "reads the record early",
                    from.with(index, reader),
                ));
            }
        }
        At::First if process.has_lost_a_part() => {
            let_go(from, index, "has lost its first lock and lets go", steps);
        }
        At::First => {
            let order = order(rules, process.url, index);
            take(rules, from, index, order[order.len() - 1], steps);
            if rules.waits_end {
                let_go(from, index, "gives up", steps);
            }
            if rules.is(Mutant::NewIsOptional) && !from.up[NEW] {
                let taken = Process {
                    at: At::Taken,
                    ..process
                };
                steps.push(work(
                    index,
                    "goes on without the new store",
                    from.with(index, taken),
                ));
            }
        }
        At::Taken => decide(rules, from, index, steps),
        At::ReadArriving => grant(rules, from, index, false, steps),
        At::ReadArrived => grant(rules, from, index, true, steps),
        At::Held => {
            let_go(from, index, "releases", steps);
            drop_old(rules, from, index, steps);
        }
    }
    learn(rules, from, index, steps);
}

/// Whether the process calls its lock held.
pub(super) fn is_held(rules: &Rules, process: &Process) -> bool {
    let is_counted = |store: &usize| match rules.is(Mutant::DeadlineOfNew) {
        true => {
            *store == NEW && process.url != Url::Old || process.url == Url::Old && *store == OLD
        }
        false => process.counts[*store],
    };
    let mut counted = [OLD, NEW].into_iter().filter(is_counted);
    process.at == At::Held && counted.all(|store| process.parts[store] == Part::Held)
}

/// The stores that a process takes, one after the other.
fn order(rules: &Rules, url: Url, index: usize) -> &'static [usize] {
    match url {
        Url::Old => &[OLD],
        Url::New => &[NEW],
        Url::Both if rules.is(Mutant::OtherOrder) && index % 2 == 1 => &[NEW, OLD],
        Url::Both => &[OLD, NEW],
    }
}

fn take<const N: usize>(
    rules: &Rules,
    from: &State<N>,
    index: usize,
    store: usize,
    steps: &mut Steps<N>,
) {
    let counts_entries = rules.entries_max > 0;
    let is_spent = counts_entries && from.counters[store] == rules.entries_max;
    if !from.up[store] || from.entries[store] != Entry::Free || is_spent {
        return;
    }
    let mut next = *from;
    if counts_entries {
        next.counters[store] += 1;
    }
    let process = &mut next.processes[index];
    let is_last = process.url != Url::Both || process.at == At::First;
    process.at = if is_last { At::Taken } else { At::First };
    process.parts[store] = Part::Held;
    process.tokens[store] = next.counters[store];
    next.entries[store] = Entry::Of(u8::try_from(index).unwrap_or_default());
    steps.push(work(
        index,
        ["takes the old lock", "takes the new lock"][store],
        next,
    ));
    if rules.lost_replies {
        next.processes[index] = from.processes[index];
        next.entries[store] = Entry::Orphan;
        let does = [
            "takes the old lock, reply lost",
            "takes the new lock, reply lost",
        ][store];
        steps.push(fault(Some(index), does, next));
    }
}

/// An old store that is silent or refuses, and does not count any more, is passed over: at once for a while.
fn pass_over<const N: usize>(rules: &Rules, from: &State<N>, index: usize, steps: &mut Steps<N>) {
    let process = from.processes[index];
    let knows = process.knows || rules.is(Mutant::SkipsUnread);
    if process.url == Url::Both && knows {
        let passed = Process {
            at: At::First,
            ..process
        };
        steps.push(work(
            index,
            "passes the old store over",
            from.with(index, passed),
        ));
    }
}

/// The process has all locks that it needs: with `migrate:` and without proof it reads the record.
fn decide<const N: usize>(rules: &Rules, from: &State<N>, index: usize, steps: &mut Steps<N>) {
    let process = from.processes[index];
    let is_known = process.url != Url::Both
        || process.knows
        || rules.is(Mutant::ReadsBeforeLocks)
        || rules.is(Mutant::NoRecord)
        || process.parts[NEW] == Part::None;
    if is_known {
        let is_new = match process.url {
            Url::Old => false,
            Url::New => true,
            Url::Both if rules.is(Mutant::NoRecord) => index % 2 == 1,
            Url::Both => process.knows,
        };
        grant(rules, from, index, is_new, steps);
    } else if process.proof || rules.is(Mutant::ProofForgotten) {
        let at = At::ReadArriving;
        let does = "has proof that the old store counts";
        steps.push(work(
            index,
            does,
            from.with(index, Process { at, ..process }),
        ));
    }
    if !is_known && from.up[NEW] {
        let (at, does) = match from.stage {
            Stage::Arrived => (At::ReadArrived, "reads that the new store counts"),
            _ => (At::ReadArriving, "reads that the old store counts"),
        };
        steps.push(work(
            index,
            does,
            from.with(index, Process { at, ..process }),
        ));
    }
    if process.has_lost_a_part() {
        let_go(
            from,
            index,
            "has lost a lock before the grant and lets go",
            steps,
        );
    }
}

fn grant<const N: usize>(
    rules: &Rules,
    from: &State<N>,
    index: usize,
    is_new: bool,
    steps: &mut Steps<N>,
) {
    let process = from.processes[index];
    let Some(counts) = counts(rules, &process, is_new) else {
        return let_go(from, index, "begins again", steps);
    };
    let has = |store: usize| !counts[store] || process.parts[store] == Part::Held;
    if !(has(OLD) && has(NEW) || rules.is(Mutant::LostPartGranted)) {
        let does = "has lost a lock before the grant and lets go";
        return let_go(from, index, does, steps);
    }
    if process.url == Url::Old && !process.proof && !rules.is(Mutant::ProofForgotten) {
        let does = "has no proof that the store is open and lets go";
        return let_go(from, index, does, steps);
    }
    let after = rules.base.saturating_add(process.tokens[NEW]);
    let is_old = counts[OLD] && !is_new;
    let token = if is_old { process.tokens[OLD] } else { after };
    let is_compared = is_old && counts[NEW] && !rules.is(Mutant::TokenUnchecked);
    if rules.entries_max > 0 && is_compared && token >= after {
        let does = "is refused a token that is not below the base";
        return let_go(from, index, does, steps);
    }
    let mut next = *from;
    let holder = &mut next.processes[index];
    holder.at = At::Held;
    holder.counts = counts;
    holder.knows |= process.url == Url::Both && is_new;
    let mut others = (0..N).filter(|other| *other != index);
    let broken = if others.any(|other| is_held(rules, &from.processes[other])) {
        Some(Clause::Exclusion)
    } else if rules.entries_max > 0 && token <= from.last {
        Some(Clause::Tokens)
    } else {
        None
    };
    if rules.entries_max > 0 {
        next.last = token;
    }
    let what = What {
        who: Some(index),
        does: ["is granted the old lock", "is granted the new lock"][usize::from(is_new)],
        kind: Kind::Granted(process.url as u8),
    };
    steps.push(Step {
        what,
        to: next,
        broken,
    });
}

/// The stores that a grant depends on; none if the old store was passed over and counts.
fn counts(rules: &Rules, process: &Process, is_new: bool) -> Option<[bool; 2]> {
    let both = process.url == Url::Both;
    match (is_new, process.parts[OLD], process.parts[NEW]) {
        (true, ..) if rules.is(Mutant::NoRecord) => Some([true, true]),
        (true, ..) => Some([false, true]),
        (false, _, Part::None) => Some([true, false]),
        (false, Part::None, _) => rules.is(Mutant::SkipsUnread).then_some([false, true]),
        (false, ..) => Some([true, both]),
    }
}

/// A lock from before the switch goes on with the new store alone.
fn drop_old<const N: usize>(rules: &Rules, from: &State<N>, index: usize, steps: &mut Steps<N>) {
    let mut holder = from.processes[index];
    let has_read = from.stage == Stage::Arrived && from.up[NEW];
    let may = holder.knows || has_read || rules.is(Mutant::DropsOldUnread);
    if holder.url == Url::Both && holder.counts == [true, true] && may && is_held(rules, &holder) {
        holder.counts = [false, true];
        holder.knows |= has_read;
        steps.push(work(
            index,
            "renews the new lock alone",
            from.with(index, holder),
        ));
    }
}

/// Another name's acquire, or a wait for the old store, finds that the switch is done. Or the record of the old store
/// is read, and the proof by it runs out.
fn learn<const N: usize>(rules: &Rules, from: &State<N>, index: usize, steps: &mut Steps<N>) {
    let mut reader = from.processes[index];
    if reader.at == At::Down {
        return;
    }
    let is_arrived = from.stage == Stage::Arrived && from.up[NEW];
    if reader.url == Url::Both && !reader.knows && is_arrived {
        reader.knows = true;
        let does = "learns that the switch is done";
        return steps.push(work(index, does, from.with(index, reader)));
    }
    let is_reading = match reader.url {
        Url::Old => rules.barrier == Barrier::Stores,
        Url::Both => true,
        Url::New => false,
    };
    let is_open = from.stage == Stage::Arriving && from.up[OLD];
    if is_reading && is_open && !reader.proof {
        reader.proof = true;
        let does = "finds the old store open";
        steps.push(work(index, does, from.with(index, reader)));
    } else if is_reading && !is_open && reader.proof {
        reader.proof = false;
        if reader.at == At::Held && reader.url == Url::Old && !rules.is(Mutant::ProofForgotten) {
            // What is lost stays lost (K3).
            reader.parts[OLD] = Part::Lapsed;
        }
        let does = "proves no more that the old store is open";
        steps.push(work(index, does, from.with(index, reader)));
    }
}

/// Releases what it has: at once where the store answers. Otherwise the entry stays for a while, and also where the
/// release is late.
fn let_go<const N: usize>(from: &State<N>, index: usize, does: &'static str, steps: &mut Steps<N>) {
    let process = from.processes[index];
    let idle = Process {
        knows: process.knows,
        proof: process.proof,
        ..Process::idle(process.url)
    };
    let mut next = from.with(index, idle);
    let has = [OLD, NEW].map(|store| from.is_of(store, index));
    for store in [OLD, NEW] {
        if has[store] {
            next.entries[store] = if from.up[store] {
                Entry::Free
            } else {
                Entry::Orphan
            };
        }
    }
    steps.push(work(index, does, next));
    for store in [OLD, NEW] {
        if has[store] && from.up[store] {
            let mut late = next;
            late.entries[store] = Entry::Orphan;
            let what = What {
                who: Some(index),
                does,
                kind: Kind::Fault,
            };
            steps.push(Step {
                what,
                to: late,
                broken: None,
            });
        }
    }
}

pub(super) fn work<const N: usize>(
    index: usize,
    does: &'static str,
    to: State<N>,
) -> Step<State<N>> {
    let what = What {
        who: Some(index),
        does,
        kind: Kind::Work,
    };
    Step {
        what,
        to,
        broken: None,
    }
}

pub(super) fn fault<const N: usize>(
    who: Option<usize>,
    does: &'static str,
    to: State<N>,
) -> Step<State<N>> {
    let what = What {
        who,
        does,
        kind: Kind::Fault,
    };
    Step {
        what,
        to,
        broken: None,
    }
}
