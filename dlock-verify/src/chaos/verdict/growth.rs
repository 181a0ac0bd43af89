//! Leaks: resources that grow in a run (K12).

use crate::chaos::run::RunReport;

/// A worker's memory may grow by so much: the allocator keeps what it had.
const MEMORY_MORE_KIB: u64 = 16 * 1024;

/// A worker may have so many more descriptors, threads and tasks: its connections depend on what it did last.
const FEW_MORE: u64 = 6;

/// The servers may have so many more connections: one or two for each worker.
const CONNECTIONS_MORE: u64 = 16;

/// Leaks: resources that have grown since the first tenth of the run.
pub(super) fn grown(report: &RunReport) -> Vec<String> {
    let Some((first, last)) = report.tenth_and_end() else {
        return Vec::new();
    };
    let (before, after) = (&first.resources, &last.resources);
    let bounds = [
        (
            "KiB of memory",
            before.memory_kib,
            after.memory_kib,
            MEMORY_MORE_KIB,
        ),
        (
            "descriptors",
            before.descriptors,
            after.descriptors,
            FEW_MORE,
        ),
        ("threads", before.threads, after.threads, FEW_MORE),
        ("tasks", before.tasks, after.tasks, FEW_MORE),
        (
            "connections at the servers",
            first.connections.unwrap_or_default(),
            last.connections.unwrap_or_default(),
            CONNECTIONS_MORE,
        ),
    ];
    let grown = bounds
        .into_iter()
        .filter(|(_, before, after, more)| *after > before + more);
    let grown = grown.map(|(what, before, after, _)| {
        format!("K12: {what} of a worker grew from {before} to {after} in this run")
    });
    grown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chaos::run::Settled;

    #[test]
    fn what_grows_after_the_first_tenth_fails() {
        let mut report = RunReport::empty();
        let mut later = Settled::empty();
        later.grants = 100;
        later.resources.tasks = FEW_MORE + 1;
        report.counts.grants = 100;
        let mut first = Settled::empty();
        first.grants = 10;
        report.settled = vec![first, later];
        let grown = grown(&report);
        assert_eq!(grown.len(), 1, "{grown:?}");
        assert!(grown[0].contains("tasks"), "{grown:?}");
    }
}
