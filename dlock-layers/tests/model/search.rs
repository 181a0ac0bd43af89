//! A search of all states of a model, nearest first: a violation has the fewest steps that lead to one.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    hash::Hash,
};

/// A promise that a step can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    /// Two processes hold one name (K1).
    Exclusion,
    /// A later grant of a name has no larger token (K5).
    Tokens,
    /// The records of both stores allow their use alone, or contradict each other.
    Records,
}

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The protocol goes on.
    Work,
    /// Something fails.
    Fault,
    /// A process of this group is granted the lock.
    Granted(u8),
}

/// A step in words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct What {
    /// The process, if it is one of a process.
    pub(crate) who: Option<usize>,
    pub(crate) does: &'static str,
    pub(crate) kind: Kind,
}

/// A step from one state to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<S> {
    pub(crate) what: What,
    pub(crate) to: S,
    pub(crate) broken: Option<Clause>,
}

/// A protocol as states and steps.
pub(crate) trait Model {
    type State: Copy + Eq + Hash;

    fn first(&self) -> Self::State;

    /// Adds all steps that can follow.
    fn steps(&self, from: &Self::State, steps: &mut Vec<Step<Self::State>>);

    /// The state in the place of all that differ from it only in the order of processes.
    fn representative(&self, state: Self::State) -> Self::State {
        state
    }
}

/// The steps that break a promise.
pub(crate) struct Broken {
    pub(crate) clause: Clause,
    pub(crate) trace: Vec<What>,
}

/// All states that a model can reach.
pub(crate) struct Reached<S> {
    pub(crate) states: Vec<S>,
    /// For each state its predecessor on a shortest way, and the step from there.
    from: Vec<Option<(usize, What)>>,
    /// The steps that are no faults, by the indices of their states.
    pub(crate) work: Vec<(usize, usize, Kind)>,
}

/// Visits all states. A model with more than `states_max` is an error of its test.
#[track_caller]
pub(crate) fn search<M: Model>(model: &M, states_max: usize) -> Result<Reached<M::State>, Broken> {
    let first = model.representative(model.first());
    let mut found = HashMap::from([(first, 0)]);
    let mut reached = Reached {
        states: vec![first],
        from: vec![None],
        work: Vec::new(),
    };
    let (mut steps, mut at) = (Vec::new(), 0);
    while let Some(state) = reached.states.get(at).copied() {
        steps.clear();
        model.steps(&state, &mut steps);
        for step in &steps {
            if let Some(clause) = step.broken {
                let trace = reached.trace(at, step.what);
                return Err(Broken { clause, trace });
            }
            let to = model.representative(step.to);
            let index = match found.entry(to) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    new.insert(reached.states.len());
                    reached.states.push(to);
                    reached.from.push(Some((at, step.what)));
                    reached.states.len() - 1
                }
            };
            if step.what.kind != Kind::Fault {
                reached.work.push((at, index, step.what.kind));
            }
        }
        assert!(
            reached.states.len() <= states_max,
            "more than {states_max} states"
        );
        at += 1;
    }
    Ok(reached)
}

impl<S> Reached<S> {
    /// The steps to the state `at`, and `last`.
    pub(crate) fn trace(&self, at: usize, last: What) -> Vec<What> {
        let before = std::iter::successors(self.from[at], |(at, _)| self.from[*at]);
        let mut trace: Vec<_> = before.map(|(_, what)| what).collect();
        trace.reverse();
        trace.push(last);
        trace
    }

    /// A state with a process of `group` from which none of that group can be granted the lock any more without a
    /// further fault, with its steps.
    pub(crate) fn stuck(&self, group: u8, has_group: impl Fn(&S) -> bool) -> Option<Vec<What>> {
        let mut before = vec![Vec::new(); self.states.len()];
        let (mut can, mut next) = (vec![false; self.states.len()], Vec::new());
        for (from, to, kind) in &self.work {
            before[*to].push(*from);
            if *kind == Kind::Granted(group) && !can[*from] {
                can[*from] = true;
                next.push(*from);
            }
        }
        while let Some(state) = next.pop() {
            for earlier in &before[state] {
                if !can[*earlier] {
                    can[*earlier] = true;
                    next.push(*earlier);
                }
            }
        }
        let stuck = (0..self.states.len()).find(|at| !can[*at] && has_group(&self.states[*at]))?;
        let end = What {
            who: None,
            does: "no grant can follow",
            kind: Kind::Work,
        };
        Some(self.trace(stuck, end))
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is broken in {} steps",
            self.clause,
            self.trace.len()
        )?;
        write_trace(f, &self.trace)
    }
}

impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn write_trace(f: &mut fmt::Formatter<'_>, trace: &[What]) -> fmt::Result {
    for (number, what) in trace.iter().enumerate() {
        write!(f, "\n{:3}. {what}", number + 1)?;
    }
    Ok(())
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(who) = self.who {
            write!(f, "{who} ")?;
        }
        f.write_str(self.does)
    }
}
