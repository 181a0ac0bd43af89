//! Processes whose parent has ended become children of the first process of a container. As that one dlock waits for
//! them, or each would keep an entry in the table of processes.

use std::fs;

use rustix::process::{Pid, WaitOptions, getpid, waitpid};
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinSet,
};

/// The task that waits for orphans, if dlock is the first process. It ends with this value.
#[derive(Debug)]
pub(crate) struct Orphans {
    _task: JoinSet<()>,
}

impl Orphans {
    /// Begins to wait for all children but the `command`, whose exit code is for dlock.
    pub(crate) fn wait_for_all_but(command: Option<Pid>) -> Option<Self> {
        if !getpid().is_init() {
            return None;
        }
        let mut ended = signal(SignalKind::child()).ok()?;
        let mut task = JoinSet::new();
        task.spawn(async move {
            while ended.recv().await.is_some() {
                for child in children().filter(|child| Some(*child) != command) {
                    // One that still runs is waited for when it has ended.
                    let _ = waitpid(Some(child), WaitOptions::NOHANG);
                }
            }
        });
        Some(Self { _task: task })
    }
}

/// The children of all threads of this process; none where the system does not list them.
fn children() -> impl Iterator<Item = Pid> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten();
    let lists = threads
        .filter_map(Result::ok)
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let numbers: Vec<_> = lists
        .flat_map(|list| list.split(' ').filter_map(number).collect::<Vec<_>>())
        .collect();
    numbers.into_iter()
}

fn number(word: &str) -> Option<Pid> {
    word.parse().ok().and_then(Pid::from_raw)
}
