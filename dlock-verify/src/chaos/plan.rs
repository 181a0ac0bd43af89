//! The plan of a run: a shuffled deck of faults.

use std::{ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    fault::{Deal, Fault},
    trigger::Trigger,
};
use crate::random::Random;

/// After so many cards all faults are healed, and the clients settle.
const SETTLE_EVERY: usize = 10;

/// How many faults are played again to search for a failure: its own, and those before.
const REPLAYED: usize = 3;

/// A plan; the same seed, store, faults and number of grants give the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Plan {
    /// The seed, also of the workers' programs.
    pub seed: u64,
    /// The name of the store.
    pub store: String,
    /// The run ends after so many grants, if all cards were played.
    pub grants: u64,
    /// The deck.
    pub cards: Vec<Card>,
}

/// One card of the deck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Card {
    /// The number in the deck, from 1.
    pub number: u32,
    /// The card is not played before the run has so many grants.
    pub after: u64,
    /// The fault, or the settling.
    #[serde(flatten)]
    pub kind: Kind,
}

/// The content of a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "card", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// A fault strikes.
    Fault {
        /// The fault's name.
        fault: String,
        /// When.
        trigger: Trigger,
        /// How long, in tenths of the ttl.
        length: u32,
        /// A random number for choices of the fault.
        choice: u64,
    },
    /// All faults end, the workers pause, and a witness takes every name.
    Settle,
}

/// Deals a deck in which each of `faults` strikes once in each of `turns`, which choose its length. The parts of a long
/// run have turns of their own.
#[must_use]
pub fn plan(
    seed: u64,
    store: &str,
    grants: u64,
    faults: &[Arc<dyn Fault>],
    turns: Range<usize>,
    deal: &Deal,
) -> Plan {
    let mut random = Random::new(seed ^ hash(store));
    let mut kinds: Vec<Kind> = Vec::new();
    for fault in faults {
        for turn in turns.clone() {
            kinds.push(card_of(&**fault, turn, &mut random, deal));
        }
    }
    shuffle(&mut kinds, &mut random);
    let with_settles = kinds.chunks(SETTLE_EVERY - 1).flat_map(|faults| {
        let settle = std::iter::once(Kind::Settle);
        faults.iter().cloned().chain(settle)
    });
    Plan::of(seed, store, grants, with_settles.collect())
}

/// The plan of the card with this number and the two faults before it, as many grants apart: to search for a failure
/// again.
#[must_use]
pub fn replay(plan: &Plan, number: u32) -> Plan {
    let is_fault = |card: &&Card| card.number <= number && card.kind != Kind::Settle;
    let faults: Vec<_> = plan.cards.iter().filter(is_fault).collect();
    let last = &faults[faults.len().saturating_sub(REPLAYED)..];
    let kinds = last.iter().map(|card| card.kind.clone());
    let kinds: Vec<_> = kinds.chain([Kind::Settle]).collect();
    let apart = plan.grants / (plan.cards.len() as u64 + 1);
    let grants = apart * (kinds.len() as u64 + 1);
    Plan::of(plan.seed, &plan.store, grants, kinds)
}

impl Plan {
    fn of(seed: u64, store: &str, grants: u64, kinds: Vec<Kind>) -> Self {
        let count = kinds.len().max(1) as u64;
        let cards = (1..).zip(kinds).map(|(number, kind)| Card {
            number,
            after: grants * u64::from(number) / (count + 1),
            kind,
        });
        Self {
            seed,
            store: store.to_owned(),
            grants,
            cards: cards.collect(),
        }
    }

    /// A further card for `fault`, the `turn`-th: one that did not bite is dealt again. There were `further` before.
    pub(super) fn again(
        &self,
        fault: &dyn Fault,
        turn: usize,
        further: usize,
        deal: &Deal,
    ) -> Card {
        let mut random = Random::new(self.seed ^ hash(fault.id()) ^ turn as u64);
        let kind = card_of(fault, turn, &mut random, deal);
        let number = u32::try_from(self.cards.len() + further).unwrap_or(u32::MAX) + 1;
        Card {
            number,
            after: 0,
            kind,
        }
    }
}

/// The lengths take turns, so that each comes up however few cards there are.
fn card_of(fault: &dyn Fault, turn: usize, random: &mut Random, deal: &Deal) -> Kind {
    let lengths = fault.lengths();
    Kind::Fault {
        fault: fault.id().to_owned(),
        trigger: fault.trigger(random, deal),
        length: lengths
            .get(turn % lengths.len().max(1))
            .copied()
            .unwrap_or(10),
        choice: random.number(),
    }
}

/// The shuffle of Fisher and Yates.
fn shuffle<T>(cards: &mut [T], random: &mut Random) {
    for last in (1..cards.len()).rev() {
        let other = usize::try_from(random.below(last as u64 + 1)).unwrap_or_default();
        cards.swap(last, other);
    }
}

/// A number of a text that stays the same in all versions: FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chaos::faults::client_side;

    fn dealt(seed: u64) -> Plan {
        let faults = client_side(true);
        plan(
            seed,
            "redis",
            10_000,
            &faults,
            0..5,
            &Deal::new(12, 8, true),
        )
    }

    #[test]
    fn a_seed_repeats_its_plan() {
        assert_eq!(dealt(7), dealt(7));
        assert_ne!(dealt(7), dealt(8));
    }

    #[test]
    fn each_fault_is_dealt_in_each_length() {
        let plan = dealt(7);
        for fault in client_side(true) {
            let lengths: Vec<_> = plan
                .cards
                .iter()
                .filter_map(|card| match &card.kind {
                    Kind::Fault {
                        fault: id, length, ..
                    } if id == fault.id() => Some(*length),
                    _ => None,
                })
                .collect();
            assert_eq!(lengths.len(), 5, "{}", fault.id());
            let all = fault.lengths().iter();
            assert!(all.clone().all(|length| lengths.contains(length)));
        }
        let settles = plan.cards.iter().filter(|card| card.kind == Kind::Settle);
        assert_eq!(settles.count(), plan.cards.len().div_ceil(SETTLE_EVERY));
    }

    #[test]
    fn parts_take_turns_at_the_lengths() {
        let (faults, deal) = (client_side(true), Deal::new(12, 8, true));
        let length = |plan: Plan| match &plan.cards[0].kind {
            Kind::Fault { length, .. } => *length,
            Kind::Settle => 0,
        };
        let part = |turn: usize| length(plan(7, "redis", 1, &faults[..1], turn..turn + 1, &deal));
        let lengths = faults[0].lengths();
        assert_eq!((part(0), part(1)), (lengths[0], lengths[1]));
    }

    #[test]
    fn a_replay_has_the_fault_and_the_two_before() {
        let plan = dealt(7);
        let again = replay(&plan, 12);
        let kinds = |cards: &[Card]| {
            cards
                .iter()
                .map(|card| card.kind.clone())
                .collect::<Vec<_>>()
        };
        // Card 10 settles.
        let expected =
            [&plan.cards[8], &plan.cards[10], &plan.cards[11]].map(|card| card.kind.clone());
        assert_eq!(kinds(&again.cards[..3]), expected);
        assert_eq!(again.cards[3].kind, Kind::Settle);
        assert_eq!(again.cards.len(), 4);
        assert_eq!(again.cards[0].after, plan.cards[0].after);
    }
}
