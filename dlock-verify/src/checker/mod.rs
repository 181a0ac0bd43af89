//! The checker: what a history violates. Pure functions, so that they can be tested themselves.
//!
//! * [`exclusion()`] (C1): the intervals in which guards of one name call themselves held do not
//!   overlap, unless all of them are shared.
//! * [`tokens`] (C2): tokens grow in the order of grants, and none comes twice.
//! * [`register()`] (C3): a resource that refuses smaller tokens loses no update.
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
//! *tᵢ < tⱼ* and *askedᵢ > fromⱼ*, or with *toᵢ > fromⱼ* where they exclude each other. Such a pair overlaps, which
//! is [`exclusion()`], or its tokens are in the wrong order, which is [`tokens`].

mod exclusion;
mod grant;
mod latest;
mod order;
mod parse;
mod register;
mod violation;

pub use self::{
    exclusion::exclusion, grant::Grant, order::tokens, parse::grants, register::register,
    violation::Violation,
};
use crate::history::{Access, Event};

/// Everything that is wrong with a run: C1 and C2 for `events`, C3 for `accesses`.
///
/// Takes O(n log n).
#[must_use]
pub fn check(events: &[Event], accesses: &[Access]) -> Vec<Violation> {
    let (grants, mut violations) = grants(events);
    violations.extend(exclusion(&grants));
    violations.extend(tokens(&grants));
    violations.extend(register(accesses));
    violations
}
