//! The program of a task: what it does, step by step.

use std::time::Duration;

use crate::random::Random;

/// A holder waits for so long at most between its check and its write.
const GAP_MAX_US: u64 = 50_000;

/// Endless steps that follow from a seed.
#[derive(Debug)]
pub(super) struct Program {
    random: Random,
    names: Vec<String>,
    /// How many of the names are hot; they come first.
    hot: usize,
    ttl: Duration,
}

/// One acquire and what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) name: String,
    /// How long the acquire waits.
    pub(super) wait: Duration,
    /// How long the lock is held.
    pub(super) hold: Duration,
    /// The time between the check and the write.
    pub(super) gap: Duration,
    /// The acquire is dropped after so many polls.
    pub(super) polls_max: Option<u32>,
    /// Whether the guard is dropped, rather than released.
    pub(super) drops_guard: bool,
    /// Whether it begins with a new locker.
    pub(super) new_locker: bool,
}

impl Program {
    pub(super) fn new(random: Random, names: Vec<String>, hot: usize, ttl: Duration) -> Self {
        Self {
            random,
            names,
            hot,
            ttl,
        }
    }

    pub(super) fn step(&mut self) -> Step {
        Step {
            name: self.name(),
            wait: self.wait(),
            hold: self.hold(),
            gap: Duration::from_micros(self.random.below(GAP_MAX_US)),
            polls_max: match self.random.chance(100) {
                true => u32::try_from(self.random.below(8) + 1).ok(),
                false => None,
            },
            drops_guard: self.random.chance(50),
            new_locker: self.random.chance(10),
        }
    }

    /// A pause of up to `max`.
    pub(super) fn pause(&mut self, max: Duration) -> Duration {
        max * u32::try_from(self.random.below(1_000)).unwrap_or_default() / 1_000
    }

    /// A hot name in half of the cases.
    fn name(&mut self) -> String {
        let others = self.names.len() - self.hot;
        let (first, count) = match others == 0 || self.random.chance(500) {
            true => (0, self.hot),
            false => (self.hot, others),
        };
        let number = usize::try_from(self.random.below(count as u64)).unwrap_or_default();
        self.names[first + number].clone()
    }

    fn wait(&mut self) -> Duration {
        match self.random.below(4) {
            0 => Duration::ZERO,
            1 => self.pause(self.ttl),
            _ => self.ttl * 10,
        }
    }

    fn hold(&mut self) -> Duration {
        match self.random.below(100) {
            0 => self.ttl * 3,
            1..5 => self.ttl / 2,
            _ => self.pause(Duration::from_millis(20)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_program() {
        let program = |seed| {
            let names = ["a", "b", "c"].map(str::to_owned).to_vec();
            let mut program = Program::new(Random::new(seed), names, 1, Duration::from_secs(1));
            (0..100).map(|_| program.step()).collect::<Vec<_>>()
        };
        assert_eq!(program(7), program(7));
        assert_ne!(program(7), program(8));
    }
}
