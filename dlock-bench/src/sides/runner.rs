//! The interface of a side, and the result of a slice.

use std::time::Duration;

use dlock_core::{Result, backend::async_trait};
use dlock_raw::residue::Cleared;

/// One side of a comparison.
#[async_trait]
pub(crate) trait Runner: Send {
    /// Works for a slice of this length. `cycle` is how long one of its cycles takes; zero if that is not known yet.
    ///
    /// # Errors
    ///
    /// The first error of the store; the side cannot run again then.
    async fn slice(&mut self, window: Duration, cycle: Duration) -> Result<Sample>;

    /// Removes what the slice left in the store. It is no part of any time.
    ///
    /// # Errors
    ///
    /// The errors of the store.
    async fn clear(&mut self) -> Result<Cleared> {
        Ok(Cleared::default())
    }

    /// Further processes that belong to the run.
    fn processes(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Ends its processes.
    async fn end(self: Box<Self>) {}
}

/// The result of a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The durations of those that ended within the slice.
    pub(crate) durations: Vec<Duration>,
    /// How many ran, in the lead-in and after the end, too: the processor worked for all of them.
    pub(crate) all: u64,
    /// How many tasks ran at a time.
    pub(crate) tasks: u32,
    /// The length of the slice.
    pub(crate) window: Duration,
}

impl Sample {
    /// The time of the cycles that ended: the slice. For one task it is without what was cut off at its ends, since
    /// one cycle more or less may be much of all.
    pub(crate) fn took(&self) -> Duration {
        match self.tasks {
            1 => self.durations.iter().sum(),
            _ => self.window,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cycles_of_one_task_are_timed_and_those_of_many_counted() {
        let sample = |tasks| Sample {
            durations: vec![Duration::from_millis(10); 8],
            all: 10,
            tasks,
            window: Duration::from_millis(90),
        };
        assert_eq!(sample(1).took(), Duration::from_millis(80));
        assert_eq!(sample(4).took(), Duration::from_millis(90));
    }
}
