//! The names of the locks of a run: no other run uses them, and all of them are known at its end.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use dlock_core::toolkit::Lock;
use tokio::time::sleep;

/// The begin of all names.
const PREFIX: &str = "dlock-bench";

/// How often it is checked whether the tasks have ended.
const CHECK_EVERY: Duration = Duration::from_millis(1);

/// The names that one store was given so far.
#[derive(Clone)]
pub(crate) struct Names {
    run: String,
    made: Arc<Lock<Made>>,
}

#[derive(Default)]
struct Made {
    names: BTreeSet<String>,
    numbered: Vec<Numbered>,
}

/// Names that one task uses once each: they differ by a number, so they are known without a list of them.
#[derive(Clone)]
pub(crate) struct Numbered {
    stem: Arc<str>,
    /// The number of the next name.
    next: Arc<AtomicU64>,
    /// The names below this number have left nothing in the store.
    cleared: Arc<AtomicU64>,
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
        let name = self.of_run(what);
        self.made.lock().names.insert(name.clone());
        name
    }

    /// The names for `count` tasks, all of the same length.
    pub(crate) fn many(&self, what: &str, count: u32) -> Vec<String> {
        (0..count)
            .map(|task| self.make(&format!("{what}-{task:05}")))
            .collect()
    }

    /// Names to use once for each of `count` tasks. `what` is of no other names.
    pub(crate) fn numbered(&self, what: &str, count: u32) -> Vec<Numbered> {
        let of_task = |task| Numbered {
            stem: self.of_run(&format!("{what}-{task:05}")).into(),
            next: Arc::default(),
            cleared: Arc::default(),
        };
        let all: Vec<Numbered> = (0..count).map(of_task).collect();
        self.made.lock().numbered.extend(all.iter().cloned());
        all
    }

    /// All names that may have left something in the store. Those of tasks are up to date when the tasks have ended.
    pub(crate) fn all(&self) -> Vec<String> {
        let made = self.made.lock();
        let numbered = made.numbered.iter().flat_map(Numbered::used);
        made.names.iter().cloned().chain(numbered).collect()
    }

    /// Waits until no task uses names once any more. A task that is aborted ends when it waits the next time.
    pub(crate) async fn unused(&self) {
        while self.made.lock().numbered.iter().any(Numbered::is_used) {
            sleep(CHECK_EVERY).await;
        }
    }

    fn of_run(&self, what: &str) -> String {
        format!("{PREFIX}/{}/{what}", self.run)
    }
}

impl Numbered {
    /// Whether a task has it, beside the list of all.
    fn is_used(&self) -> bool {
        Arc::strong_count(&self.next) > 1
    }

    /// A name that was not used before. It is recorded before its use.
    pub(crate) fn next(&self) -> String {
        self.name(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// The names that were used since the last [`clear`](Self::clear).
    pub(crate) fn used(&self) -> Vec<String> {
        let (from, to) = (&self.cleared, &self.next);
        let numbers = from.load(Ordering::Relaxed)..to.load(Ordering::Relaxed);
        numbers.map(|number| self.name(number)).collect()
    }

    /// Records that the [`used`](Self::used) names have left nothing in the store. None was used since then.
    pub(crate) fn clear(&self) {
        let next = self.next.load(Ordering::Relaxed);
        self.cleared.store(next, Ordering::Relaxed);
    }

    /// All names of a run have the same length: they are a part of each request.
    fn name(&self, number: u64) -> String {
        format!("{}-{number:08}", self.stem)
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

    #[test]
    fn names_used_once_are_known_until_they_are_cleared() {
        let names = Names::new("7f3a");
        let tasks = names.numbered("once", 2);
        assert_eq!(names.all(), Vec::<String>::new());
        let of_first = [tasks[0].next(), tasks[0].next()];
        assert_eq!(of_first[1], "dlock-bench/7f3a/once-00000-00000001");
        let of_second = tasks[1].next();
        assert_eq!(
            names.all(),
            [&of_first[..], std::slice::from_ref(&of_second)].concat()
        );
        tasks[0].clear();
        assert_eq!(names.all(), [of_second]);
        assert_eq!(tasks[0].next(), "dlock-bench/7f3a/once-00000-00000002");
        assert_eq!(names.all().len(), 2);
    }
}
