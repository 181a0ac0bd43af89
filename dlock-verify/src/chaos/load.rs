//! How many clients work, and on which names.

use serde::{Deserialize, Serialize};

/// The size of a run: workers, their tasks and the names that they lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "a target writes it as a literal")]
pub struct Load {
    /// The number of worker processes.
    pub workers: usize,
    /// The number of tasks in each worker.
    pub tasks: usize,
    /// The number of names that all workers lock.
    pub hot: usize,
    /// The number of names that [`SHARERS`](Self::SHARERS) workers lock each.
    pub shared: usize,
}

impl Load {
    /// How many workers lock a name that is not hot.
    pub const SHARERS: usize = 3;

    /// All names, which begin with `prefix`.
    #[must_use]
    pub fn names(&self, prefix: &str) -> Vec<String> {
        let names = 0..self.hot + self.shared;
        names
            .map(|number| format!("{prefix}n{number:02}"))
            .collect()
    }

    /// The numbers of the names that `worker` locks: first the hot ones.
    #[must_use]
    pub fn of_worker(&self, worker: usize) -> Vec<usize> {
        let is_shared_with = |number: &usize| {
            let first = number - self.hot;
            let later = (worker + self.workers - first % self.workers) % self.workers;
            later < Self::SHARERS
        };
        let shared = (self.hot..self.hot + self.shared).filter(is_shared_with);
        (0..self.hot).chain(shared).collect()
    }
}

impl Default for Load {
    /// 8 workers with 2 tasks each; 4 hot names and 8 others.
    fn default() -> Self {
        Self {
            workers: 8,
            tasks: 2,
            hot: 4,
            shared: 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_its_sharers() {
        let load = Load::default();
        let mut sharers = vec![0; load.names("").len()];
        for worker in 0..load.workers {
            load.of_worker(worker)
                .into_iter()
                .for_each(|name| sharers[name] += 1);
        }
        assert_eq!(sharers, [8, 8, 8, 8, 3, 3, 3, 3, 3, 3, 3, 3]);
    }
}
