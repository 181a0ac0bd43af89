//! Steps around the protocol: faults, entries that end, other URLs, and the steps of the operator.

use super::{
    rules::{Barrier, Mutant, NEW, OLD, Rules, Stage, Url},
    state::{At, Entry, Part, Process, State},
    steps::{fault, work},
};
use crate::search::{Kind, Step, What};

type Steps<const N: usize> = Vec<Step<State<N>>>;

/// Adds what can happen to the process `index`.
pub(super) fn of_process<const N: usize>(
    rules: &Rules,
    from: &State<N>,
    index: usize,
    steps: &mut Steps<N>,
) {
    let process = from.processes[index];
    if rules.lapses {
        for store in [OLD, NEW] {
            if process.parts[store] == Part::Held {
                let mut lapsed = process;
                lapsed.parts[store] = Part::Lapsed;
                let does = ["its old lock lapses", "its new lock lapses"][store];
                steps.push(fault(Some(index), does, from.with(index, lapsed)));
            }
        }
    }
    if rules.crashes && !matches!(process.at, At::Down | At::Idle) {
        let mut next = *from;
        let down = Process {
            at: At::Down,
            ..Process::idle(process.url)
        };
        next.processes[index] = down;
        for store in [OLD, NEW] {
            if from.is_of(store, index) {
                next.entries[store] = Entry::Orphan;
            }
        }
        steps.push(fault(Some(index), "crashes", next));
    }
    if process.at == At::Down || process.at == At::Idle && rules.moves {
        for url in [Url::Old, Url::Both, Url::New] {
            let is_own = url == process.url;
            let is_wanted = if process.at == At::Down {
                is_own || rules.moves
            } else {
                !is_own
            };
            if is_wanted && may_connect(rules, from, process.url, url) {
                let does = [
                    "connects to the old store",
                    "connects to both",
                    "connects to the new store",
                ];
                let started = from.with(index, started(url, from.stage));
                steps.push(work(index, does[url as usize], started));
            }
        }
    }
}

/// A process that has just connected, and has read the records for it.
pub(super) fn started(url: Url, stage: Stage) -> Process {
    Process {
        knows: url == Url::Both && stage == Stage::Arrived,
        proof: url == Url::Old,
        ..Process::idle(url)
    }
}

/// Whether a process with the URL `before` may be started again with `url`: by the runbook, and by the records.
fn may_connect<const N: usize>(rules: &Rules, from: &State<N>, before: Url, url: Url) -> bool {
    let [old, new] = from.up;
    match url {
        Url::Old => {
            let is_open = from.stage == Stage::Arriving || rules.is(Mutant::OldAloneConnects);
            before != Url::New && old && is_open
        }
        // The records of both stores are read.
        Url::Both => old && new,
        Url::New => {
            let counts = from.stage == Stage::Arrived || rules.is(Mutant::NewAloneConnects);
            before != Url::Old && new && counts
        }
    }
}

/// Adds what happens in the stores.
pub(super) fn of_stores<const N: usize>(rules: &Rules, from: &State<N>, steps: &mut Steps<N>) {
    for store in [OLD, NEW] {
        let mut next = *from;
        next.entries[store] = Entry::Free;
        match from.entries[store] {
            Entry::Orphan => {
                let does = [
                    "the orphan in the old store expires",
                    "the orphan in the new store expires",
                ];
                steps.push(of_all(does[store], next));
            }
            Entry::Of(owner) => {
                let part = &mut next.processes[usize::from(owner)].parts[store];
                if *part == Part::Lapsed {
                    *part = Part::Gone;
                    let does = ["a lapsed old lock expires", "a lapsed new lock expires"];
                    steps.push(of_all(does[store], next));
                }
            }
            Entry::Free => {}
        }
        if rules.outages {
            let mut next = *from;
            next.up[store] = !from.up[store];
            if next.up[store] {
                let does = ["the old store answers again", "the new store answers again"];
                steps.push(of_all(does[store], next));
            } else {
                let does = ["the old store goes down", "the new store goes down"];
                steps.push(fault(None, does[store], next));
            }
        }
    }
}

/// Adds the steps of the operator.
pub(super) fn of_operator<const N: usize>(rules: &Rules, from: &State<N>, steps: &mut Steps<N>) {
    let is_old = |process: &Process| process.url == Url::Old;
    let may = match (from.stage, rules.barrier) {
        (Stage::Arriving, Barrier::People) => {
            from.up[OLD] && (!from.processes.iter().any(is_old) || rules.is(Mutant::SwitchTooEarly))
        }
        (Stage::Arriving, Barrier::Stores) => from.up[OLD],
        (Stage::Closed, barrier) => {
            let counts = |process: &Process| barrier == Barrier::Stores || !is_old(process);
            let has_proof = |process: &Process| process.proof && counts(process);
            let is_over = !from.processes.iter().any(has_proof);
            from.up[NEW] && (is_over || rules.is(Mutant::SwitchDoesNotWait))
        }
        (Stage::Arrived, _) => false,
    };
    if !may {
        return;
    }
    let mut next = *from;
    if from.stage == Stage::Arriving {
        next.stage = Stage::Closed;
        steps.push(of_all("the operator closes the old store", next));
    } else {
        next.stage = Stage::Arrived;
        steps.push(of_all("the operator switches", next));
    }
}

fn of_all<const N: usize>(does: &'static str, to: State<N>) -> Step<State<N>> {
    let what = What {
        who: None,
        does,
        kind: Kind::Work,
    };
    Step {
        what,
        to,
        broken: None,
    }
}
