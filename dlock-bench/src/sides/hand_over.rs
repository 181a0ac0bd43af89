//! The hand-over: from the release in one process to the grant in another.
//!
//! Two processes take turns on one name. Each holds it for a moment, and comes back so soon that the other one is
//! waiting when it releases.

use std::time::Duration;

use dlock_core::{BootInstant, Locker, Result, backend::async_trait};

use super::runner::{Runner, Sample};
use crate::worker::{Reply, Request, Turn, Worker, take_turns, unexpected};

/// This process and a worker.
pub(crate) struct HandingOver {
    pub(crate) locks: Locker,
    pub(crate) name: String,
    pub(crate) worker: Worker,
}

#[async_trait]
impl Runner for HandingOver {
    async fn slice(&mut self, window: Duration, _cycle: Duration) -> Result<Sample> {
        let request = Request::Turns {
            name: self.name.clone(),
            millis: u64::try_from(window.as_millis()).unwrap_or(u64::MAX),
        };
        let ours = take_turns(&self.locks, &self.name, window);
        let (ours, theirs) = tokio::join!(ours, self.worker.call(&request, window));
        let mut turns = ours?;
        match theirs? {
            Reply::Turns(theirs) => turns.extend(theirs),
            other => return Err(unexpected(&other)),
        }
        let durations = between(turns);
        Ok(Sample {
            all: durations.len() as u64,
            durations,
            tasks: 1,
            window,
        })
    }

    fn processes(&self) -> Vec<u32> {
        self.worker.pid().into_iter().collect()
    }

    async fn end(self: Box<Self>) {
        self.worker.end().await;
    }
}

/// From each release to the grant that follows it in the other process.
fn between(mut turns: Vec<Turn>) -> Vec<Duration> {
    turns.sort_by_key(|turn| turn.granted_ns);
    let pairs = turns.windows(2);
    pairs
        .filter(|pair| pair[0].process != pair[1].process)
        .map(|pair| {
            let released = BootInstant::from_nanos(pair[0].releasing_ns);
            BootInstant::from_nanos(pair[1].granted_ns).since(released)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_grants_after_the_other_process_count() {
        let turn = |process, granted_ns, releasing_ns| Turn {
            process,
            granted_ns,
            releasing_ns,
        };
        let turns = vec![
            turn(2, 1_500, 2_000),
            turn(1, 0, 1_000),
            turn(2, 2_100, 2_200),
        ];
        assert_eq!(between(turns), [Duration::from_nanos(500)]);
    }
}
