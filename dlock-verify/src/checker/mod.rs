//! The checker: what a history violates. Pure functions, so that they can be tested themselves.
//!
//! [`Reading`] makes [`Facts`] of the events of a history. Each check is a function from them to a [`Verdict`], and
//! [`check`] gathers all. The README has a table of them.
//!
//! C1 and C2 together accept a history exactly when the lock with its tokens is linearizable.
//!
//! # Linearizability
//!
//! A history is linearizable if each operation can be given a point in its own time, such that the points in
//! order are a legal run of the lock. A legal acquire finds no holder that excludes it, and its token is
//! larger than all before. An end removes its holder. Grant *i* has the token *tᵢ*; its acquire has the time
//! from *requestedᵢ* to *fromᵢ*, and its end has the time from *toᵢ* on.
//!
//! **Theorem.** If no token comes twice, the history is linearizable exactly when this succeeds for all grants
//! in the order of their tokens: give the acquire of *j* the point *pⱼ*, the largest of *requestedⱼ*, the point of
//! the grant before, and the points of the ends of earlier grants that exclude *j*; require *pⱼ ≤ fromⱼ*; give
//! the end of *j* the point max(*toⱼ*, *pⱼ*).
//!
//! **Proof.** Tokens order the acquires. Every other constraint, that *i* ends before *j* acquires, leads from
//! a smaller token to a larger one. So legality is a partial order of the operations, and the placement gives
//! each operation the least point that this order allows. If a point is outside its operation's time, no
//! linearization exists; otherwise the points are one. Acquires without a grant may be left out: they change
//! nothing. ∎
//!
//! **In pairs.** Where *fromᵢ < toᵢ* for all grants, the placement fails exactly when there are *i* and *j* with
//! *tᵢ < tⱼ* and *requestedᵢ > fromⱼ*, or with *toᵢ > fromⱼ* where they exclude each other. Such a pair overlaps, which
//! is [`exclusion()`], or its tokens are in the wrong order, which is [`tokens`].

mod attempt;
mod bounds;
mod contention;
mod control;
mod effect;
mod exclusion;
mod facts;
mod kind;
mod latest;
mod liveness;
mod loss;
mod order;
mod presence;
mod reading;
mod register;
mod residue;
mod verdict;
mod violation;

pub use self::{
    attempt::{Grant, NEVER, Outcome, Ungranted},
    bounds::Bounds,
    contention::contention,
    control::{control, lost_updates},
    effect::effect,
    exclusion::exclusion,
    facts::{Attempts, Facts, Fault, Span},
    kind::Check,
    liveness::liveness,
    loss::loss,
    order::tokens,
    reading::Reading,
    register::register,
    residue::residue,
    verdict::{Report, Verdict},
    violation::{Violation, Waiter},
};

/// The verdicts of all checks. Takes O(n log n).
///
/// The checks of tokens have no cases where tokens do not grow.
#[must_use]
pub fn check(facts: &Facts, bounds: &Bounds) -> Report {
    let fenced = |verdict: fn(&Facts) -> Verdict| match bounds.fencing {
        true => verdict(facts),
        false => Verdict::Holds { cases: 0 },
    };
    let malformed = facts.malformed.iter().cloned();
    let malformed = malformed.map(|event| Violation::Malformed { event });
    Report {
        grants: facts.grant_count(),
        verdicts: vec![
            (
                Check::History,
                Verdict::of(facts.event_count, malformed.collect()),
            ),
            (Check::Exclusion, exclusion(facts)),
            (Check::Order, fenced(tokens)),
            (Check::Register, fenced(register)),
            (Check::Control, control(facts, bounds)),
            (Check::Liveness, liveness(facts, bounds)),
            (Check::Contention, contention(facts, bounds)),
            (Check::Residue, residue(facts, bounds)),
            (Check::Loss, loss(facts, bounds)),
            (Check::Effect, effect(facts, bounds)),
        ],
    }
}
