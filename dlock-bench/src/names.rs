//! The names of the locks of a run: no other run uses them, and all of them are known at its end.

use std::{collections::BTreeSet, sync::Arc};

use dlock_core::toolkit::Lock;

/// The begin of all names.
const PREFIX: &str = "dlock-bench";

/// The names that one store was given so far.
#[derive(Clone)]
pub(crate) struct Names {
    run: String,
    made: Arc<Lock<BTreeSet<String>>>,
}

impl Names {
    /// The names of the run `run`: two runs on one store must not wait for each other.
    pub(crate) fn new(run: &str) -> Self {
        Self {
            run: run.to_owned(),
            made: Arc::default(),
        }
    }

    /// The name for `what`, which is recorded.
    pub(crate) fn make(&self, what: &str) -> String {
        let name = format!("{PREFIX}/{}/{what}", self.run);
        self.made.lock().insert(name.clone());
        name
    }

    /// The names for `count` tasks, all of the same length.
    pub(crate) fn many(&self, what: &str, count: u32) -> Vec<String> {
        (0..count)
            .map(|task| self.make(&format!("{what}-{task:05}")))
            .collect()
    }

    /// All names that were made.
    pub(crate) fn all(&self) -> Vec<String> {
        self.made.lock().iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_one_run_and_recorded_once() {
        let names = Names::new("7f3a");
        assert_eq!(names.make("first"), "dlock-bench/7f3a/first");
        names.clone().make("first");
        assert_eq!(names.many("cycle", 2)[1], "dlock-bench/7f3a/cycle-00001");
        assert_eq!(names.all().len(), 3);
    }
}
