//! The processes of a command that shares its process group with others: what a KILL after a loss has to reach.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use rustix::process::{Pid, Signal, kill_process};

/// How often processes are searched for, while they start others.
const SCANS_MAX: usize = 10;

/// The directory of all processes.
const PROCESSES: &str = "/proc";

/// A process that is not mistaken for a later one with its id: its id, and when it was started.
type Identity = (i32, u64);

/// The processes of a command, as far as they were seen.
#[derive(Debug, Default)]
pub(super) struct Tree(BTreeSet<Identity>);

impl Tree {
    /// Adds the process `root`, its children, and theirs.
    pub(super) fn add(&mut self, root: Pid) {
        let processes = processes();
        let mut parents = BTreeSet::from([root.as_raw_nonzero().get()]);
        // A child is found in the round after its parent.
        loop {
            let before = parents.len();
            for (pid, process) in &processes {
                if parents.contains(pid) || parents.contains(&process.parent) {
                    parents.insert(*pid);
                    self.0.insert((*pid, process.started));
                }
            }
            if parents.len() == before {
                return;
            }
        }
    }

    /// Kills the process `root`, if there is one, with all of its children, and those that were seen before.
    pub(super) fn kill(&mut self, root: Option<Pid>) {
        for scan in 0..SCANS_MAX {
            let before = self.0.len();
            if let Some(root) = root {
                self.add(root);
            }
            // A stopped process starts no other one: the last scan comes after the last stop.
            if scan > 0 && self.0.len() == before {
                break;
            }
            self.send(Signal::STOP);
        }
        self.send(Signal::KILL);
        if let Some(root) = root {
            // Also where the system does not list processes.
            let _ = kill_process(root, Signal::KILL);
        }
    }

    fn send(&self, signal: Signal) {
        let processes = processes();
        for (pid, started) in &self.0 {
            let lives = processes
                .get(pid)
                .is_some_and(|process| process.started == *started);
            if let Some(pid) = Pid::from_raw(*pid).filter(|_| lives) {
                // It fails only when the process has just ended, or may not be killed.
                let _ = kill_process(pid, signal);
            }
        }
    }
}

/// The facts of a process.
struct Process {
    parent: i32,
    /// In ticks since the boot.
    started: u64,
}

/// All processes by their ids; none where the system does not list them.
fn processes() -> BTreeMap<i32, Process> {
    let entries = fs::read_dir(PROCESSES).into_iter().flatten().flatten();
    let numbered = entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let status = fs::read_to_string(entry.path().join("stat")).ok()?;
        Some((pid, parse(&status)?))
    });
    numbered.collect()
}

/// Reads the file `stat` of a process.
fn parse(status: &str) -> Option<Process> {
    /// The index of the parent and of the start among the words behind the name.
    const PARENT: usize = 1;
    const STARTED: usize = 19;
    // The name may have spaces and parentheses.
    let (_, rest) = status.rsplit_once(") ")?;
    let words: Vec<_> = rest.split(' ').collect();
    Some(Process {
        parent: words.get(PARENT)?.parse().ok()?,
        started: words.get(STARTED)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_is_read_over() {
        let status = "77 (a) b) S 42 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 99123 5 6";
        let process = parse(status).expect("a process");
        assert_eq!((process.parent, process.started), (42, 99_123));
        assert!(parse("77 (a").is_none());
    }

    #[test]
    fn this_process_is_listed() {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
        let process = &processes()[&own];
        assert_eq!(Some(process.parent), parent);
    }
}
