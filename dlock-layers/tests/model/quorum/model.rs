//! The model of a quorum: its first state, and its steps.

use super::{
    canonical,
    rules::Rules,
    state::{Client, Node, State},
    steps,
};
use crate::search::{Model, Step};

/// A quorum of `N` nodes with `C` clients.
pub(crate) struct Quorum<const N: usize, const C: usize> {
    pub(crate) rules: Rules,
}

impl<const N: usize, const C: usize> Model for Quorum<N, C> {
    type State = State<N, C>;

    fn first(&self) -> State<N, C> {
        State {
            nodes: [Node::EMPTY; N],
            clients: std::array::from_fn(|index| Client::idle(index % self.rules.names)),
            acquires: self.rules.acquires,
            forgets: self.rules.forgets,
            granted: [0; 2],
        }
    }

    fn steps(&self, from: &State<N, C>, steps: &mut Vec<Step<State<N, C>>>) {
        for client in 0..C {
            steps::of_client(&self.rules, from, client, steps);
        }
        steps::of_nodes(&self.rules, from, steps);
    }

    fn representative(&self, state: State<N, C>) -> State<N, C> {
        canonical::representative(&state)
    }
}
