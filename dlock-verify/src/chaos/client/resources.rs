//! The resources that a process has open.

use std::fs;

use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

/// The size of a page in `/proc/self/statm` on the systems that are tested.
const PAGE_KIB: u64 = 4;

/// Resources of a worker while it holds and awaits nothing; zeros where the system does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Resources {
    /// Memory that is in use, in KiB.
    pub memory_kib: u64,
    /// Open descriptors.
    pub descriptors: u64,
    /// Threads.
    pub threads: u64,
    /// Tasks of the runtime.
    pub tasks: u64,
}

impl Resources {
    /// The larger of each.
    pub(in crate::chaos) fn most(self, other: Self) -> Self {
        Self {
            memory_kib: self.memory_kib.max(other.memory_kib),
            descriptors: self.descriptors.max(other.descriptors),
            threads: self.threads.max(other.threads),
            tasks: self.tasks.max(other.tasks),
        }
    }

    pub(super) fn count() -> Self {
        let entries = |path| fs::read_dir(path).map_or(0, |found| found.count() as u64);
        let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let resident = statm
            .split(' ')
            .nth(1)
            .and_then(|pages| pages.parse::<u64>().ok());
        Self {
            memory_kib: resident.unwrap_or_default() * PAGE_KIB,
            descriptors: entries("/proc/self/fd"),
            threads: entries("/proc/self/task"),
            tasks: Handle::current().metrics().num_alive_tasks() as u64,
        }
    }
}
