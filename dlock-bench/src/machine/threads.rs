//! The processor time of the threads of a process.

use std::{collections::BTreeMap, fs, time::Duration};

/// The processor time of each thread of a process, by its id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Threads(BTreeMap<u32, Duration>);

/// The processor time that a process spent between two readings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent(BTreeMap<u32, Duration>);

impl Threads {
    /// Reads the present times; `None` when the process is gone, or the kernel does not count.
    pub(crate) fn read(pid: u32) -> Option<Self> {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
        let times = tasks.filter_map(|task| {
            let thread = task.file_name().to_str()?.parse().ok()?;
            let times = fs::read_to_string(task.path().join("schedstat")).ok()?;
            let nanos = times.split_whitespace().next()?.parse().ok()?;
            Some((thread, Duration::from_nanos(nanos)))
        });
        let threads: BTreeMap<_, _> = times.collect();
        (!threads.is_empty()).then_some(Self(threads))
    }

    /// The time spent since an `earlier` reading. A thread that ended in between is not counted.
    pub(crate) fn since(&self, earlier: &Self) -> Spent {
        let spent = self.0.iter().map(|(thread, time)| {
            let before = earlier.0.get(thread).copied().unwrap_or_default();
            (*thread, time.saturating_sub(before))
        });
        Spent(spent.collect())
    }
}

impl Spent {
    /// The time of all threads.
    pub(crate) fn total(&self) -> Duration {
        self.0.values().sum()
    }

    /// The time of the thread that worked most.
    pub(crate) fn busiest(&self) -> Duration {
        self.0.values().max().copied().unwrap_or_default()
    }

    /// Adds what was spent in another stretch of time.
    pub(crate) fn add(&mut self, other: &Self) {
        for (thread, time) in &other.0 {
            *self.0.entry(*thread).or_default() += *time;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(times: &[(u32, u64)]) -> BTreeMap<u32, Duration> {
        let times = times.iter();
        times
            .map(|&(thread, millis)| (thread, Duration::from_millis(millis)))
            .collect()
    }

    #[test]
    fn threads_come_and_go() {
        let before = Threads(millis(&[(1, 10), (2, 5)]));
        let after = Threads(millis(&[(1, 14), (3, 2)]));
        let mut spent = after.since(&before);
        assert_eq!(spent, Spent(millis(&[(1, 4), (3, 2)])));
        spent.add(&Spent(millis(&[(3, 7)])));
        assert_eq!(spent.total(), Duration::from_millis(13));
        assert_eq!(spent.busiest(), Duration::from_millis(9));
    }

    #[test]
    fn this_process_works() {
        let pid = std::process::id();
        let before = Threads::read(pid).expect("this process");
        let work: u64 = (0..3_000_000_u64).map(std::hint::black_box).sum();
        std::hint::black_box(work);
        let spent = Threads::read(pid).expect("this process").since(&before);
        assert!(spent.total() > Duration::ZERO && spent.busiest() <= spent.total());
        assert!(Threads::read(u32::MAX).is_none());
    }
}
