//! The checker against a search for a linearization, on small histories; and on a large one.

use dlock_verify::{
    checker::{Facts, Violation, exclusion, tokens},
    history::{Event, EventKind},
};
use proptest::prelude::*;

/// One grant of one name. `requested <= from < to`.
#[derive(Clone, Copy, Debug)]
struct Hold {
    requested: u64,
    from: u64,
    to: u64,
    token: u64,
    shared: bool,
}

fn events(holds: &[Hold]) -> Vec<Event> {
    let mut events = Vec::new();
    for (client, hold) in (0..).zip(holds) {
        let (op, name) = (0, "n".into());
        let requested = EventKind::Requested {
            op,
            name,
            shared: hold.shared,
            waits: true,
        };
        let granted = EventKind::Granted {
            op,
            token: hold.token,
            until: u64::MAX,
        };
        events.push(Event::new(hold.requested, client, requested));
        events.push(Event::new(hold.from, client, granted));
        events.push(Event::new(hold.to, client, EventKind::Releasing { op }));
    }
    // Stable: those of one client stay in order.
    events.sort_by_key(|event| event.at);
    events
}

/// The violations of C1 and C2.
fn violations(holds: &[Hold]) -> Vec<Violation> {
    let facts: Facts = events(holds).iter().collect();
    assert_eq!(facts.malformed, []);
    let mut violations = exclusion(&facts).violations().to_vec();
    violations.extend_from_slice(tokens(&facts).violations());
    violations
}

/// A search through the orders of all acquires and ends: whether one of them is a legal run of the lock.
#[derive(Clone)]
struct Search<'a> {
    holds: &'a [Hold],
    now: u64,
    token: u64,
    /// By hold: whether it has acquired, and whether it has ended.
    acquired: Vec<bool>,
    ended: Vec<bool>,
}

impl<'a> Search<'a> {
    fn new(holds: &'a [Hold]) -> Self {
        Self {
            holds,
            now: 0,
            token: 0,
            acquired: vec![false; holds.len()],
            ended: vec![false; holds.len()],
        }
    }

    fn succeeds(&self) -> bool {
        self.acquired.iter().all(|acquired| *acquired)
            || (0..self.holds.len())
                .filter_map(|index| self.next(index))
                .any(|next| next.succeeds())
    }

    /// The state after the next operation of a hold, if it is legal then.
    fn next(&self, index: usize) -> Option<Self> {
        let hold = self.holds[index];
        let mut next = self.clone();
        if !self.acquired[index] {
            next.now = self.now.max(hold.requested);
            next.token = hold.token;
            next.acquired[index] = true;
            return (next.now <= hold.from && hold.token > self.token && self.admits(hold))
                .then_some(next);
        }
        next.now = self.now.max(hold.to);
        next.ended[index] = true;
        (!self.ended[index]).then_some(next)
    }

    fn admits(&self, hold: Hold) -> bool {
        (0..self.holds.len())
            .filter(|index| self.acquired[*index] && !self.ended[*index])
            .all(|index| hold.shared && self.holds[index].shared)
    }
}

/// Few times, so that many of them are equal. Tokens in the order of the grants more often than not.
fn holds() -> impl Strategy<Value = Vec<Hold>> {
    let hold = (0u64..12, 0u64..4, 1u64..5, any::<bool>(), 0u64..6);
    let holds = prop::collection::vec(hold, 1..6);
    (holds, 0u8..4).prop_map(|(mut holds, order)| {
        holds.sort_by_key(|(requested, wait, ..)| requested + wait);
        let hold = |(index, (requested, wait, lasts, shared, token))| Hold {
            requested,
            from: requested + wait,
            to: requested + wait + lasts,
            token: if order == 0 { token + 1 } else { index },
            shared,
        };
        (1..).zip(holds).map(hold).collect()
    })
}

/// `count` holds, one after the other.
fn serial(count: u64) -> Vec<Hold> {
    let hold = |token: u64| Hold {
        requested: 10 * token,
        from: 10 * token + 1,
        to: 10 * token + 9,
        token,
        shared: false,
    };
    (1..=count).map(hold).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn the_checker_accepts_exactly_the_linearizable_histories(holds in holds()) {
        let violations = violations(&holds);
        prop_assert_eq!(violations.is_empty(), Search::new(&holds).succeeds(), "{:?}", violations);
    }
}

/// With a check of all pairs it would not end.
#[test]
fn a_history_of_many_grants_is_checked() {
    let count = 200_000;
    let mut holds = serial(count);
    assert_eq!(violations(&holds), []);
    // Two tokens far from each other change places.
    holds[10].token = count - 10;
    holds[199_989].token = 11;
    let violations = violations(&holds);
    let tokens = |violation: &Violation| matches!(violation, Violation::Tokens { .. });
    assert!(!violations.is_empty() && violations.iter().all(tokens));
}
