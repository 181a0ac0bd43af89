//! The tokens that a lost counter explains.

use std::collections::BTreeMap;

use crate::{
    chaos::run::Struck,
    checker::{Facts, Grant, Violation},
};

/// The times at which a counter of tokens was lost, and the tokens that each locker had been given.
pub(super) struct LostCounters<'a> {
    facts: &'a Facts,
    losses: Vec<&'a Struck>,
    /// The highest token that a locker had been given so far, with the time, by client and locker.
    given: BTreeMap<(u32, u16), Vec<(u64, u64)>>,
}

impl<'a> LostCounters<'a> {
    /// With the strikes of faults that lose a counter.
    pub(super) fn new(facts: &'a Facts, losses: Vec<&'a Struck>) -> Self {
        let mut given = BTreeMap::<_, Vec<(u64, u64)>>::new();
        for grant in facts.names.values().flat_map(|attempts| &attempts.grants) {
            let given = given.entry((grant.client, grant.locker)).or_default();
            given.push((grant.from, grant.token));
        }
        for given in given.values_mut() {
            given.sort_unstable();
            let mut highest = 0;
            for (_, token) in given {
                highest = highest.max(*token);
                *token = highest;
            }
        }
        Self {
            facts,
            losses,
            given,
        }
    }

    /// Whether the loss of a counter explains each later grant whose token is not above that of the first one. The
    /// violation shows only one of them.
    pub(super) fn explain(&self, violation: &Violation) -> bool {
        let Violation::Tokens { first, second } = violation else {
            return false;
        };
        if self.losses.is_empty() {
            return false;
        }
        let of_name = self.facts.names.get(&first.name);
        let later = of_name.into_iter().flat_map(|attempts| &attempts.grants);
        let mut later = later.filter(|later| {
            later.requested > first.from && later.token <= first.token && later.is_held()
        });
        self.lie_between(first, second) && later.all(|later| self.lie_between(first, later))
    }

    /// Whether a counter was lost between the two grants, and the locker of the later one knew no higher token.
    fn lie_between(&self, first: &Grant, later: &Grant) -> bool {
        let mut losses = self.losses.iter();
        let is_lost = losses.any(|loss| first.requested <= loss.end && loss.begin <= later.from);
        is_lost && self.given_before(later) < later.token
    }

    /// The highest token that the locker of this grant was given before it requested this one.
    fn given_before(&self, grant: &Grant) -> u64 {
        let given = self
            .given
            .get(&(grant.client, grant.locker))
            .map_or(&[][..], Vec::as_slice);
        let known = given.partition_point(|(at, _)| *at <= grant.requested);
        let last = known.checked_sub(1).and_then(|last| given.get(last));
        last.map_or(0, |(_, token)| *token)
    }
}
