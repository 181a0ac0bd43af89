//! The checker: what a history violates. Pure functions, so that they can be tested themselves.
//!
//! * [`exclusion`] (C1): the intervals in which guards of one name call themselves held do not
//!   overlap, unless all of them are shared.
//! * [`tokens`] (C2): tokens grow in the order of grants, and none comes twice.
//! * [`register`] (C3): a resource that refuses smaller tokens loses no update.

mod grant;
mod intervals;
mod order;
mod updates;
mod violation;

pub use self::{
    grant::{Grant, grants},
    intervals::exclusion,
    order::tokens,
    updates::register,
    violation::Violation,
};

use crate::{history::Event, register::Access};

/// Everything that is wrong with a run: C1 and C2 for `events`, C3 for `accesses`.
#[must_use]
pub fn check(events: &[Event], accesses: &[Access]) -> Vec<Violation> {
    let (grants, mut violations) = grants(events);
    violations.extend(exclusion(&grants));
    violations.extend(tokens(&grants));
    violations.extend(register(accesses));
    violations
}
