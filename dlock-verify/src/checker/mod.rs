//! The checker: what a history violates. Pure functions, so that they can be tested themselves.
//!
//! * [`exclusion`] (C1): the intervals in which guards of one name call themselves held do not
//!   overlap, unless all of them are shared.
//! * [`tokens`] (C2): tokens grow in the order of grants, and none comes twice.
//! * [`register`] (C3): a resource that refuses smaller tokens loses no update.

mod checks;
mod grant;
mod parse;
mod violation;

pub use self::{
    checks::{check, exclusion, register, tokens},
    grant::Grant,
    parse::grants,
    violation::Violation,
};
