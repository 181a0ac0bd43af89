//! Acquiring a lock: one attempt, or waiting for one that is taken.

pub(crate) mod attempt;
pub(crate) mod wait;
