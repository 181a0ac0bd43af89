//! The model of operators: its first state, and its steps.

use super::{
    commands::{self, Mutant},
    state::{Command, Job, Record, State},
};
use crate::search::{Model, Step};

/// Two operators at work.
pub(crate) struct Operators {
    /// The records at the beginning.
    pub(crate) begins: [Option<Record>; 2],
    /// So many commands there are in all.
    pub(crate) commands: u8,
    /// Whether there are commands for the way back.
    pub(crate) back: bool,
    pub(crate) mutant: Option<Mutant>,
}

impl Model for Operators {
    type State = State;

    fn first(&self) -> State {
        State::new(self.begins, self.commands)
    }

    fn steps(&self, from: &State, steps: &mut Vec<Step<State>>) {
        for operator in 0..from.commands.len() {
            match from.commands[operator] {
                None => self.begin(from, operator, steps),
                Some(command) => commands::go_on(self.mutant, from, operator, command, steps),
            }
        }
    }

    fn representative(&self, mut state: State) -> State {
        // The operators are alike.
        state.commands.sort_unstable();
        state
    }
}

impl Operators {
    fn begin(&self, from: &State, operator: usize, steps: &mut Vec<Step<State>>) {
        if from.left == 0 {
            return;
        }
        let directions = if self.back { 0..2 } else { 0..1 };
        for (job, old) in directions.flat_map(|old| Job::ALL.map(|job| (job, old))) {
            let mut next = *from;
            next.left -= 1;
            next.commands[operator] = Some(Command::new(job, old, from.left));
            steps.push(commands::step(operator, job.name(), next));
        }
    }
}
