//! How long names had no holder.

use std::time::Duration;

use dlock_verify::checker::{Facts, NEVER};

/// The times without faults and restarts, in nanoseconds of the history.
#[derive(Debug, Default)]
pub(crate) struct Calm(Vec<(u64, u64)>);

impl Calm {
    pub(crate) fn add(&mut self, from: u64, to: u64) {
        self.0.push((from, to));
    }

    fn has(&self, from: u64, to: u64) -> bool {
        self.0.iter().any(|calm| calm.0 <= from && to <= calm.1)
    }
}

/// The longest time for which a name had no holder: without faults and restarts, and at any time.
pub(crate) fn pauses(facts: &Facts, calm: &Calm) -> (Duration, Duration) {
    let (mut in_calm, mut ever) = (0, 0);
    for attempts in facts.names.values() {
        let mut free_from = NEVER;
        for grant in &attempts.grants {
            let pause = grant.from.saturating_sub(free_from);
            ever = pause.max(ever);
            if calm.has(free_from, grant.from) {
                in_calm = pause.max(in_calm);
            }
            free_from = grant.to();
        }
    }
    (Duration::from_nanos(in_calm), Duration::from_nanos(ever))
}
