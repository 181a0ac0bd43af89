//! The model of a move: its first state, and its steps.

use super::{
    rules::{Mutant, Rules, Url},
    state::State,
    steps, surroundings,
};
use crate::search::{Model, Step};

/// A move with `N` processes.
pub(crate) struct Move<const N: usize> {
    pub(crate) rules: Rules,
    /// The URLs that the processes begin with.
    pub(crate) urls: [Url; N],
}

impl<const N: usize> Model for Move<N> {
    type State = State<N>;

    fn first(&self) -> State<N> {
        let started = |url: Url| surroundings::started(url, self.rules.begins);
        State::new(self.urls.map(started), self.rules.begins)
    }

    fn steps(&self, from: &State<N>, steps: &mut Vec<Step<State<N>>>) {
        for index in 0..N {
            steps::of_process(&self.rules, from, index, steps);
            surroundings::of_process(&self.rules, from, index, steps);
        }
        surroundings::of_stores(&self.rules, from, steps);
        surroundings::of_operator(&self.rules, from, steps);
    }

    fn representative(&self, state: State<N>) -> State<N> {
        if self.rules.mutant.is_some_and(Mutant::is_by_index) {
            state
        } else {
            state.sorted()
        }
    }
}
